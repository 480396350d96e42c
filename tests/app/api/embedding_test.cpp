// The effects of gemm() on an application's CUDA, with a driver that logs the calls it gets.
#include <cstdio>
#include <optional>

#include <doctest/doctest.h>

#include "autotune/autotuner.hpp"

#include "api/device_choice.hpp"
#include "api/setup.hpp"
#include "core/hash.hpp"
#include "db/cubin_store.hpp"
#include "gpu/gpu.hpp"
#include "gpu/shared_library.hpp"
#include "kernel_templates/kernel_registry.hpp"
#include "tests/app/api/gemm_traits.hpp"
#include "tests/app/api/temporary_storage.hpp"
#include "tests/support/fake_cuda.hpp"

namespace autotune::test {
namespace {

const GemmProblem kProblem{.m = 64, .n = 48, .k = 32};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The application's side of the fake driver.
class Application {
 public:
  void push_context(int device, int number) const {
    library_.function<void (*)(int, int)>("fake_cuda_push_context")(device, number);
  }
  void pop_context() const { library_.function<void (*)()>("fake_cuda_pop_context")(); }
  [[nodiscard]] int context_depth() const {
    return library_.function<int (*)()>("fake_cuda_context_depth")();
  }
  [[nodiscard]] CUstream_st* stream(bool capturing) const {
    return library_.function<CUstream_st* (*)(bool)>("fake_cuda_stream")(capturing);
  }
  [[nodiscard]] std::string take_calls() const {
    return library_.function<const char* (*)()>("fake_cuda_take_calls")();
  }

 private:
  gpu::SharedLibrary library_ = *gpu::SharedLibrary::open(AUTOTUNE_FAKE_CUDA);
};

// A machine with two GPUs and no NVRTC, on which gemm() has compiled kProblem's kernel before.
struct Machine {
  TemporaryStorage storage;
  FakeCuda cuda{"devices=2"};
  Application application;
  std::optional<EnvironmentVariable> no_nvrtc{std::in_place, "AUTOTUNE_NVRTC",
                                              "/nonexistent/libnvrtc.so"};

  Machine() {
    static_cast<void>(application.take_calls());
    compile("gemm_simt", kProblem);
  }

  // Puts a template's default kernel for a problem into the cubin store.
  static void compile(const std::string& name, const GemmProblem& problem) {
    compile(name, problem, code_traits(*built_in_kernels().find(name), problem));
  }
  static void compile(const std::string& name, const GemmProblem& problem,
                      const CodeTraits& traits) {
    const KernelTemplate& kernel = *built_in_kernels().find(name);
    const Configuration configuration = kernel.default_configuration(problem);
    CubinStore store = open_cubin_store();
    store.put(cubin_key("any", std::string(kernel.source),
                        compile_options(kernel, configuration, traits, "sm_90")),
              {"// PTX\n.entry " + name + "(", "", {}});
  }

  // For aligned operands and for any.
  static void compile_both(const std::string& name, const GemmProblem& problem) {
    for (const bool aligned : {true, false}) {
      compile(name, problem, traits_of(problem, aligned));
    }
  }

  [[nodiscard]] std::string calls_of(Autotuner& tuner, CUstream_st* stream = nullptr) const {
    static_cast<void>(application.take_calls());
    alignas(16) float memory = 0;
    CHECK(tuner.gemm(kProblem, 1, &memory, 32, &memory, 48, 0, &memory, 48, stream) ==
          MatchKind::predicted);
    return application.take_calls();
  }
};

TEST_SUITE("embedding on a GPU") {
  TEST_CASE("where nothing is known, products with very few rows or columns get their template") {
    const Machine machine;
    const Autotuner tuner;
    CHECK(tuner.best({.m = 1, .n = 5000, .k = 600}).template_name == "gemm_skinny");
    CHECK(tuner.best({.m = 700, .n = 4, .k = 3}).template_name == "gemm_skinny");
    CHECK(tuner.best({.m = 48, .n = 48, .k = 48}).template_name == "gemm_simt");
  }

  TEST_CASE("tensor maps are made of aligned operands, for others the kernel copies without") {
    const Machine machine;
    const GemmProblem problem{.m = 1600, .n = 1604, .k = 1600};
    Machine::compile_both("gemm_tma", problem);
    Autotuner tuner;
    REQUIRE(tuner.best(problem).template_name == "gemm_tma");
    alignas(16) float memory[2] = {};
    // B comes by a tensor map, A does not.
    const auto maps = [&](const float* a, const float* b, std::int64_t lda, std::int64_t ldb) {
      static_cast<void>(machine.application.take_calls());
      tuner.gemm(problem, 1, a, lda, b, ldb, 0, memory, 1604);
      const std::string calls = machine.application.take_calls();
      CHECK(has(calls, "cuLaunchKernelEx"));
      return has(calls, "cuTensorMapEncodeTiled");
    };
    CHECK(maps(memory, memory, 1600, 1604));
    CHECK(maps(memory, memory, 1604, 1608));
    CHECK_FALSE(maps(memory + 1, memory, 1600, 1604));
    CHECK_FALSE(maps(memory, memory + 1, 1600, 1604));
    CHECK_FALSE(maps(memory, memory, 1600, 1605));
    // Rows farther apart than a map can say.
    CHECK_FALSE(maps(memory, memory, 1600, std::int64_t{1} << 38));
    CHECK(tuner.best({.m = 1600, .n = 1601, .k = 1602}).template_name == "gemm_tma");
  }

  TEST_CASE("a prepared product can be captured wherever its operands lie") {
    const Machine machine;
    const GemmProblem problem{.m = 1600, .n = 1604, .k = 1600};
    Machine::compile_both("gemm_tma", problem);
    Autotuner tuner;
    tuner.prepare(problem);
    alignas(16) float memory[2] = {};
    for (const float* b : {memory, memory + 1}) {
      CHECK_NOTHROW(tuner.gemm(problem, 1, memory, 1600, b, 1604, 0, memory, 1604,
                               machine.application.stream(true)));
    }
  }

  TEST_CASE("without a current context the primary one is borrowed") {
    const Machine machine;
    Autotuner tuner;
    CHECK(tuner.device_name() == "NVIDIA H200");
    CHECK(machine.application.context_depth() == 0);
    CHECK(has(machine.calls_of(tuner), "cuModuleLoadData cuModuleGetFunction"));
    CHECK(machine.application.context_depth() == 0);
    CHECK(machine.calls_of(tuner) ==
          "cuCtxGetCurrent cuCtxPushCurrent cuCtxGetId cuLaunchKernelEx cuCtxPopCurrent");
  }

  TEST_CASE("the current context is used as it is, and each has kernels of its own") {
    const Machine machine;
    Autotuner tuner;
    const std::string warm = "cuCtxGetCurrent cuCtxGetDevice cuCtxGetId cuLaunchKernelEx";
    for (const int context : {0, 1, 2}) {
      CAPTURE(context);
      machine.application.push_context(0, context);
      const std::string cold = machine.calls_of(tuner);
      CHECK(has(cold, "cuModuleLoadData"));
      CHECK_FALSE(has(cold, "cuCtxPushCurrent"));
      CHECK_FALSE(has(cold, "cuDevicePrimaryCtxRetain"));
      CHECK(machine.calls_of(tuner) == warm);
      CHECK(machine.application.context_depth() == 1);
      machine.application.pop_context();
    }
  }

  TEST_CASE("a context of another GPU is refused") {
    const Machine machine;
    Autotuner tuner({.device = "0"});
    machine.application.push_context(1, 0);
    CHECK_THROWS_WITH_AS(static_cast<void>(tuner.prepare(kProblem)),
                         "the thread's current CUDA context belongs to GPU 1, but this Autotuner "
                         "to GPU 0",
                         UsageError);
    CHECK(machine.application.context_depth() == 1);
    CHECK(Autotuner({.device = "1"}).prepare(kProblem) == MatchKind::predicted);
    machine.application.pop_context();
  }

  TEST_CASE("a fault leaves the contexts as they were") {
    Machine machine;
    Autotuner tuner;
    machine.cuda.set_script("devices=2;cuLaunchKernelEx:700");
    alignas(16) float memory = 0;
    CHECK_THROWS_AS(tuner.gemm(kProblem, 1, &memory, 32, &memory, 48, 0, &memory, 48), Error);
    machine.cuda.set_script("devices=2;cuModuleLoadData:200");
    CHECK_THROWS_AS(static_cast<void>(Autotuner().prepare(kProblem)), Error);
    CHECK(machine.application.context_depth() == 0);
  }

  TEST_CASE("without memory for shared results another kernel is taken") {
    Machine machine;
    const GemmProblem deep{.m = 64, .n = 64, .k = 65536};
    Machine::compile("gemm_simt", deep);
    Machine::compile("gemm_tiled", deep);
    Autotuner tuner;
    alignas(16) float memory = 0;
    const auto run = [&](CUstream_st* stream) {
      tuner.gemm(deep, 1, &memory, deep.k, &memory, 64, 0, &memory, 64, stream);
    };
    const auto calls = [&] {
      static_cast<void>(machine.application.take_calls());
      run(nullptr);
      return machine.application.take_calls();
    };
    machine.cuda.set_script("devices=2;cuMemAlloc:2");
    CHECK(has(calls(), "cuMemAlloc"));
    CHECK_FALSE(has(calls(), "cuMemAlloc"));  // it is not asked again
    CUstream_st* const capturing = machine.application.stream(true);
    tuner.prepare(deep);
    CHECK_FALSE(has(calls(), "cuMemAlloc"));
    CHECK_THROWS_AS(run(capturing), UsageError);
    machine.cuda.set_script("devices=2");
    static_cast<void>(machine.application.take_calls());
    tuner.prepare(deep);
    CHECK(has(machine.application.take_calls(), "cuMemAlloc"));
    CHECK_FALSE(has(calls(), "cuMemAlloc"));
  }

  TEST_CASE("without a compiler code for any operands serves aligned ones") {
    const Machine machine;
    GemmProblem other{.m = 64, .n = 48, .k = 32};
    set_layout(other, "TT");
    alignas(16) float memory[2] = {};
    Autotuner tuner;
    const auto multiply = [&](const float* a) {
      tuner.gemm(other, 1, a, 64, memory, 32, 0, memory, 48);
    };
    CHECK_THROWS_AS(multiply(memory), EnvironmentError);
    Machine::compile("gemm_simt", other, traits_of(other, false));
    CHECK_NOTHROW(multiply(memory));
    CHECK_NOTHROW(multiply(memory + 1));
  }

  TEST_CASE("operands that are not aligned get a kernel of their own") {
    const Machine machine;
    Machine::compile("gemm_simt", kProblem, traits_of(kProblem, false));
    Autotuner tuner;
    alignas(16) float memory[2] = {};
    const auto loads = [&](const float* a, std::int64_t ldc) {
      static_cast<void>(machine.application.take_calls());
      tuner.gemm(kProblem, 1, a, 32, memory, 48, 0, memory, ldc);
      return has(machine.application.take_calls(), "cuModuleLoadData");
    };
    CHECK(loads(memory, 48));
    CHECK_FALSE(loads(memory, 52));
    CHECK(loads(memory + 1, 48));
    CHECK_FALSE(loads(memory, 49));
    CHECK_FALSE(loads(memory, 48));

    // Each operand counts: from here on without what aligned ones use.
    struct Call {
      int a, lda, b, ldb, c;
    };
    for (const Call& call : {Call{1, 32, 0, 48, 0}, Call{0, 33, 0, 48, 0}, Call{0, 32, 1, 48, 0},
                             Call{0, 32, 0, 50, 0}, Call{0, 32, 0, 48, 1}}) {
      Autotuner fresh;
      const auto multiply = [&](const Call& which) {
        static_cast<void>(machine.application.take_calls());
        fresh.gemm(kProblem, 1, memory + which.a, which.lda, memory + which.b, which.ldb, 0,
                   memory + which.c, 48);
        return has(machine.application.take_calls(), "cuModuleLoadData");
      };
      CHECK(multiply({0, 32, 0, 48, 0}));
      CHECK(multiply(call));
    }

    Autotuner other;
    other.prepare(kProblem);
    static_cast<void>(machine.application.take_calls());
    for (const float* a : {memory, memory + 1}) {
      other.gemm(kProblem, 1, a, 32, memory, 48, 0, memory, 48);
    }
    CHECK_FALSE(has(machine.application.take_calls(), "cuModuleLoadData"));
  }

  TEST_CASE("a warm call can be captured, a cold one is refused before it breaks the capture") {
    const Machine machine;
    Autotuner tuner;
    CUstream_st* const capturing = machine.application.stream(true);
    alignas(16) float memory = 0;
    CHECK_THROWS_AS(tuner.gemm(kProblem, 1, &memory, 32, &memory, 48, 0, &memory, 48, capturing),
                    UsageError);
    CHECK_FALSE(has(machine.application.take_calls(), "cuModuleLoadData"));
    tuner.prepare(kProblem);
    CHECK(has(machine.calls_of(tuner, capturing), "cuLaunchKernelEx"));
  }

  TEST_CASE("kernels are unloaded from the primary context, and left to those of the application") {
    const Machine machine;
    for (const int context : {0, 1}) {
      CAPTURE(context);
      {
        Autotuner tuner;
        machine.application.push_context(0, context);
        tuner.prepare(kProblem);
        machine.application.pop_context();
        static_cast<void>(machine.application.take_calls());
      }
      CHECK(has(machine.application.take_calls(), "cuModuleUnload") == (context == 0));
      CHECK(machine.application.context_depth() == 0);
    }
  }

  TEST_CASE("a kernel that nobody compiled needs NVRTC, and says so") {
    const Machine machine;
    GemmProblem problem = kProblem;
    set_layout(problem, "TT");
    CHECK_THROWS_WITH_AS(static_cast<void>(Autotuner().prepare(problem)),
                         doctest::Contains("the kernel is not in the cubin store, and the NVRTC"),
                         EnvironmentError);
  }

  TEST_CASE("what the program tuned is taken from the store, by the compiler that it was for") {
    const Machine machine;
    const KernelTemplate& kernel = built_in_kernels().templates().front();
    Autotuner tuner;
    Winner winner;
    winner.device_class = choose_device("0").device.device_class();
    winner.device_label = "NVIDIA H200";
    winner.problem = kProblem;
    winner.template_name = kernel.name;
    winner.space_version = kernel.space_version;
    winner.source_hash = content_hash(kernel.source);
    winner.environment = {choose_device("0").device.driver_text(), "99.9 CL-1", "", 1};
    winner.configuration =
        kernel.default_configuration(GemmProblem{.m = 4096, .n = 4096, .k = 4096});
    winner.median_us = winner.low_us = winner.high_us = 5;
    winner.confirmed = true;
    winner.measured_at = "2026-11-21T05:40:44Z";
    TuningDatabase::open(machine.storage.database()).put_winners({&winner, 1});
    CHECK_THROWS_AS(static_cast<void>(tuner.prepare(kProblem)), EnvironmentError);
    {
      CubinStore store = open_cubin_store();
      store.put(cubin_key("99.9 CL-1", std::string(kernel.source),
                          compile_options(kernel, winner.configuration,
                                          code_traits(kernel, kProblem), "sm_90")),
                {"// PTX", "", {}});
    }
    CHECK(tuner.prepare(kProblem) == MatchKind::exact);
    CHECK(tuner.best(kProblem).median_us == 5);
  }

  TEST_CASE("tune() leaves the current context as it found it") {
    Machine machine;
    machine.no_nvrtc.reset();
    if (!inspect_nvrtc().usable) {
      std::printf("SKIPPED: no NVRTC\n");
      return;
    }
    Autotuner tuner;
    const GemmProblem problem{.m = 64, .n = 47, .k = 32};
    for (const int depth : {0, 1}) {
      CAPTURE(depth);
      if (depth == 1) machine.application.push_context(0, 1);
      const TuningResult result = tuner.tune(problem, {.budget_trials = 1 + depth});
      CHECK(result.measured > 0);
      CHECK(result.winner.has_value());
      CHECK(machine.application.context_depth() == depth);
    }
    CHECK(tuner.prepare(problem) == MatchKind::exact);
    machine.application.pop_context();
  }
}

}  // namespace
}  // namespace autotune::test
