// The effects of gemm() on an application's CUDA, with a driver that logs the calls it gets.
#include <doctest/doctest.h>

#include "autotune/autotune.hpp"

#include "api/device_choice.hpp"
#include "api/setup.hpp"
#include "db/cubin_store.hpp"
#include "kernel_templates/kernel_set.hpp"
#include "tests/api/fake_machine.hpp"
#include "tests/support/winner.hpp"

namespace autotune::test {
namespace {

TEST_SUITE("embedding on a GPU") {
  TEST_CASE("where nothing is known, products with very few rows or columns get their template") {
    const Machine machine;
    const Library library;
    CHECK(library.query({.m = 1, .n = 5000, .k = 600}).template_name == "gemm_skinny");
    CHECK(library.query({.m = 700, .n = 4, .k = 3}).template_name == "gemm_skinny");
    CHECK(library.query({.m = 48, .n = 48, .k = 48}).template_name == "gemm_simt");
  }

  TEST_CASE("tensor maps are made of aligned operands, for others the kernel copies without") {
    const Machine machine;
    const GemmProblem problem{.m = 1600, .n = 1604, .k = 1600};
    Machine::compile_both("gemm_tma", problem);
    Library library;
    REQUIRE(library.query(problem).template_name == "gemm_tma");
    // B comes by a tensor map, A does not.
    const auto maps = [&](const float* a, const float* b, std::int64_t lda, std::int64_t ldb) {
      static_cast<void>(machine.application.take_calls());
      library.gemm(problem, 1, {a, lda}, {b, ldb}, 0, {kResult, 1604});
      const std::string calls = machine.application.take_calls();
      CHECK(has(calls, "cuLaunchKernelEx"));
      return has(calls, "cuTensorMapEncodeTiled");
    };
    CHECK(maps(kMemory, kMemory, 1600, 1604));
    CHECK(maps(kMemory, kMemory, 1604, 1608));
    CHECK_FALSE(maps(kMemory + 1, kMemory, 1600, 1604));
    CHECK_FALSE(maps(kMemory, kMemory + 1, 1600, 1604));
    CHECK_FALSE(maps(kMemory, kMemory, 1600, 1605));
    // Rows farther apart than a map can say.
    CHECK_FALSE(maps(kMemory, kMemory, 1600, std::int64_t{1} << 38));
    CHECK(library.query({.m = 1600, .n = 1601, .k = 1602}).template_name == "gemm_tma");
  }

  TEST_CASE("a prepared product can be captured wherever its operands lie") {
    const Machine machine;
    const GemmProblem problem{.m = 1600, .n = 1604, .k = 1600};
    Machine::compile_both("gemm_tma", problem);
    Library library;
    library.prepare(problem);
    for (const float* b : {kMemory, kMemory + 1}) {
      CHECK_NOTHROW(library.gemm(problem, 1, {kMemory, 1600}, {b, 1604}, 0, {kResult, 1604},
                                 machine.application.stream(true)));
    }
  }

  TEST_CASE("without a current context the primary one is borrowed") {
    const Machine machine;
    Library library;
    CHECK(library.device_name() == "NVIDIA H200");
    CHECK(machine.application.context_depth() == 0);
    CHECK(has(machine.calls_of(library), "cuModuleLoadData cuModuleGetFunction"));
    CHECK(machine.application.context_depth() == 0);
    CHECK(machine.calls_of(library) ==
          "cuCtxGetCurrent cuCtxPushCurrent cuCtxGetId cuLaunchKernelEx cuCtxPopCurrent");
  }

  TEST_CASE("the current context is used as it is, and each has kernels of its own") {
    const Machine machine;
    Library library;
    const std::string warm = "cuCtxGetCurrent cuCtxGetId cuLaunchKernelEx";
    for (const int context : {0, 1, 2}) {
      CAPTURE(context);
      machine.application.push_context(0, context);
      const std::string cold = machine.calls_of(library);
      CHECK(has(cold, "cuModuleLoadData"));
      CHECK_FALSE(has(cold, "cuCtxPushCurrent"));
      CHECK_FALSE(has(cold, "cuDevicePrimaryCtxRetain"));
      CHECK(machine.calls_of(library) == warm);
      CHECK(machine.application.context_depth() == 1);
      machine.application.pop_context();
    }
  }

  TEST_CASE("a Library of one GPU refuses a context of another") {
    const Machine machine;
    Library library({.device = Device::gpu(0)});
    machine.application.push_context(1, 0);
    CHECK_THROWS_WITH_AS(static_cast<void>(library.prepare(kProblem)),
                         "the thread's current CUDA context belongs to GPU 1, but this Library "
                         "to GPU 0",
                         UsageError);
    CHECK(machine.application.context_depth() == 1);
    CHECK(Library({.device = Device::gpu(1)}).prepare(kProblem) == MatchKind::predicted);
    machine.application.pop_context();
  }

  TEST_CASE("a fault leaves the contexts as they were") {
    Machine machine;
    Library library;
    machine.cuda.set_script("devices=2;cuLaunchKernelEx:700");
    CHECK_THROWS_AS(library.gemm(kProblem, 1, {kMemory, 32}, {kMemory, 48}, 0, {kResult, 48}),
                    Error);
    machine.cuda.set_script("devices=2;cuModuleLoadData:200");
    CHECK_THROWS_AS(static_cast<void>(Library().prepare(kProblem)), Error);
    CHECK(machine.application.context_depth() == 0);
  }

  TEST_CASE("without memory for shared results another kernel is taken") {
    Machine machine;
    const GemmProblem deep{.m = 64, .n = 64, .k = 65536};
    Machine::compile("gemm_simt", deep);
    Machine::compile("gemm_tiled", deep);
    Library library;
    const auto run = [&](CUstream_st* stream) {
      library.gemm(deep, 1, {kMemory, deep.k}, {kMemory, 64}, 0, {kResult, 64}, stream);
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
    library.prepare(deep);
    CHECK_FALSE(has(calls(), "cuMemAlloc"));
    CHECK_THROWS_AS(run(capturing), UsageError);
    machine.cuda.set_script("devices=2");
    static_cast<void>(machine.application.take_calls());
    library.prepare(deep);
    CHECK(has(machine.application.take_calls(), "cuMemAlloc"));
    CHECK_FALSE(has(calls(), "cuMemAlloc"));
  }

  TEST_CASE("without a compiler code for any operands serves aligned ones") {
    const Machine machine;
    GemmProblem other{.m = 64, .n = 48, .k = 32};
    set_layout(other, "TT");
    Library library;
    const auto multiply = [&](const float* a) {
      library.gemm(other, 1, {a, 64}, {kMemory, 32}, 0, {kResult, 48});
    };
    CHECK_THROWS_AS(multiply(kMemory), EnvironmentError);
    Machine::compile("gemm_simt", other, traits_of(other, false));
    CHECK_NOTHROW(multiply(kMemory));
    CHECK_NOTHROW(multiply(kMemory + 1));
  }

  TEST_CASE("operands that are not aligned get a kernel of their own") {
    const Machine machine;
    Machine::compile("gemm_simt", kProblem, traits_of(kProblem, false));
    Library library;
    const auto loads = [&](const float* a, std::int64_t ldc) {
      static_cast<void>(machine.application.take_calls());
      library.gemm(kProblem, 1, {a, 32}, {kMemory, 48}, 0, {kResult, ldc});
      return has(machine.application.take_calls(), "cuModuleLoadData");
    };
    CHECK(loads(kMemory, 48));
    CHECK_FALSE(loads(kMemory, 52));
    CHECK(loads(kMemory + 1, 48));
    CHECK_FALSE(loads(kMemory, 49));
    CHECK_FALSE(loads(kMemory, 48));

    // Each operand counts: from here on without what aligned ones use.
    struct Call {
      int a, lda, b, ldb, c;
    };
    for (const Call& call : {Call{1, 32, 0, 48, 0}, Call{0, 33, 0, 48, 0}, Call{0, 32, 1, 48, 0},
                             Call{0, 32, 0, 50, 0}, Call{0, 32, 0, 48, 1}}) {
      Library fresh;
      const auto multiply = [&](const Call& which) {
        static_cast<void>(machine.application.take_calls());
        fresh.gemm(kProblem, 1, {kMemory + which.a, which.lda}, {kMemory + which.b, which.ldb}, 0,
                   {kResult + which.c, 48});
        return has(machine.application.take_calls(), "cuModuleLoadData");
      };
      CHECK(multiply({0, 32, 0, 48, 0}));
      CHECK(multiply(call));
    }

    Library other;
    other.prepare(kProblem);
    static_cast<void>(machine.application.take_calls());
    for (const float* a : {kMemory, kMemory + 1}) {
      other.gemm(kProblem, 1, {a, 32}, {kMemory, 48}, 0, {kResult, 48});
    }
    CHECK_FALSE(has(machine.application.take_calls(), "cuModuleLoadData"));
  }

  TEST_CASE("a warm call can be captured, a cold one is refused before it breaks the capture") {
    const Machine machine;
    Library library;
    CUstream_st* const capturing = machine.application.stream(true);
    CHECK_THROWS_AS(
        library.gemm(kProblem, 1, {kMemory, 32}, {kMemory, 48}, 0, {kResult, 48}, capturing),
        UsageError);
    CHECK_FALSE(has(machine.application.take_calls(), "cuModuleLoadData"));
    library.prepare(kProblem);
    CHECK(has(machine.calls_of(library, capturing), "cuLaunchKernelEx"));
  }

  TEST_CASE("a captured product has the memory that its stream had before") {
    const Machine machine;
    const GemmProblem deep{.m = 64, .n = 64, .k = 65536};
    Machine::compile("gemm_simt", deep);
    Library library;
    CUstream_st* const stream = machine.application.stream(false);
    const auto run = [&](CUstream_st* on) {
      static_cast<void>(machine.application.take_calls());
      library.gemm(deep, 1, {kMemory, deep.k}, {kMemory, 64}, 0, {kResult, 64}, on);
      return machine.application.take_calls();
    };
    CHECK(has(run(stream), "cuMemAlloc"));
    for (const bool was_last : {true, false}) {
      CAPTURE(was_last);
      if (!was_last) CHECK(has(run(nullptr), "cuMemAlloc"));
      machine.application.capture(stream, true);
      std::string captured;
      CHECK_NOTHROW(captured = run(stream));
      CHECK(has(captured, "cuLaunchKernelEx"));
      CHECK_FALSE(has(captured, "cuMemAlloc"));
      CHECK_FALSE(has(captured, "cuStreamGetId"));
      machine.application.capture(stream, false);
    }
    library.release(stream);
    machine.application.capture(stream, true);
    CHECK_THROWS_AS(run(stream), UsageError);
    machine.application.capture(stream, false);
  }

  TEST_CASE("kernels are unloaded from the primary context, and left to those of the application") {
    const Machine machine;
    for (const int context : {0, 1}) {
      CAPTURE(context);
      {
        Library library;
        machine.application.push_context(0, context);
        library.prepare(kProblem);
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
    CHECK_THROWS_WITH_AS(static_cast<void>(Library().prepare(problem)),
                         doctest::Contains("the kernel is not in the cubin store, and the NVRTC"),
                         EnvironmentError);
  }

  TEST_CASE("what the program tuned is taken from the store, by the compiler that it was for") {
    const Machine machine;
    const KernelTemplate& kernel = *built_in_kernels().find("gemm_simt");
    Library library;
    Winner winner = winner_of(kernel, kProblem, choose_device("0").device);
    winner.configuration =
        kernel.default_configuration(GemmProblem{.m = 4096, .n = 4096, .k = 4096});
    TuningDatabase::open(machine.storage.database()).put_winners({&winner, 1});
    CHECK_THROWS_AS(static_cast<void>(library.prepare(kProblem)), EnvironmentError);
    {
      CubinStore store = open_cubin_store();
      store.put(cubin_key("99.9 CL-1", std::string(kernel.source),
                          compile_options(kernel, winner.configuration,
                                          code_traits(kernel, kProblem), "sm_90")),
                {"// PTX", "", {}});
    }
    CHECK(library.prepare(kProblem) == MatchKind::exact);
    CHECK(library.query(kProblem).median_us == 5);
  }

  TEST_CASE("tune() leaves the current context as it found it") {
    Machine machine;
    if (!machine.use_nvrtc()) return;
    Library library;
    const GemmProblem problem{.m = 64, .n = 47, .k = 32};
    for (const int depth : {0, 1}) {
      CAPTURE(depth);
      if (depth == 1) machine.application.push_context(0, 1);
      const TuningResult result = library.tune({problem}, {.budget_trials = 1 + depth});
      CHECK(result.measured > 0);
      CHECK(result.problems.front().winner.has_value());
      CHECK(machine.application.context_depth() == depth);
    }
    CHECK(library.prepare(problem) == MatchKind::exact);
    machine.application.pop_context();
  }
}

}  // namespace
}  // namespace autotune::test
