// A machine with GPUs that the fake driver shows, and its application's side of CUDA.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "autotune/autotune.hpp"

#include "api/setup.hpp"
#include "db/cubin_store.hpp"
#include "gpu/gpu.hpp"
#include "gpu/shared_library.hpp"
#include "kernel_templates/kernel_set.hpp"
#include "tests/api/gemm_traits.hpp"
#include "tests/api/temporary_storage.hpp"
#include "tests/support/fake_cuda.hpp"

namespace autotune::test {

inline const GemmProblem kProblem{.m = 64, .n = 48, .k = 32};
// Its kernel shares results between blocks, and needs a workspace.
inline const GemmProblem kDeep{.m = 64, .n = 64, .k = 65536};

inline CUstream_st* const kPerThreadStream = reinterpret_cast<CUstream_st*>(2);

// Where A and B begin, and behind them nothing else; the fake driver looks at neither them nor C.
inline float* const kResult = reinterpret_cast<float*>(std::uintptr_t{1} << 32);
inline float* const kMemory = reinterpret_cast<float*>(std::uintptr_t{1} << 40);
inline const GemmArguments kCall{.a = {kMemory}, .b = {kMemory}, .c = {kResult}};

inline bool has(const std::string& text, const std::string& part) {
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
  void capture(CUstream_st* stream, bool capturing) const {
    library_.function<void (*)(CUstream_st*, bool)>("fake_cuda_capture")(stream, capturing);
  }
  // The driver then allocates nothing, and logs nothing.
  void stay_silent(bool silent) const {
    library_.function<void (*)(bool)>("fake_cuda_stay_silent")(silent);
  }
  // The PTX of the module that was loaded last.
  [[nodiscard]] std::string last_image() const {
    return library_.function<const char* (*)()>("fake_cuda_last_image")();
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
  // Without the number of an SM's registers nothing is predicted, and gemm() takes the templates'
  // defaults, whatever ships.
  FakeCuda cuda{"devices=2;attribute82=0"};
  Application application;
  std::optional<EnvironmentVariable> no_nvrtc{std::in_place, "AUTOTUNE_NVRTC",
                                              "/nonexistent/libnvrtc.so"};

  Machine() {
    static_cast<void>(application.take_calls());
    compile("gemm_simt", kProblem);
  }

  // Lets the library find the compiler that is here. Returns false, and says so, where none is.
  [[nodiscard]] bool use_nvrtc() {
    no_nvrtc.reset();
    const bool usable = inspect_nvrtc().usable;
    if (!usable) std::printf("SKIPPED: no NVRTC\n");
    return usable;
  }

  // Puts a template's default kernel for a problem into the cubin store.
  static void compile(const std::string& name, const GemmProblem& problem) {
    compile(name, problem, code_traits(*built_in_kernels().find(name), problem));
  }
  static void compile(const std::string& name, const GemmProblem& problem, const CodeTraits& traits,
                      const std::string& body = "") {
    const KernelTemplate& kernel = *built_in_kernels().find(name);
    const Configuration configuration = kernel.default_configuration(problem);
    CubinStore store = open_cubin_store();
    store.put(cubin_key("any", std::string(kernel.source),
                        compile_options(kernel, configuration, traits, "sm_90")),
              {"// PTX\n.entry " + name + "(" + body, "", {}});
  }

  // For aligned operands and for any.
  static void compile_both(const std::string& name, const GemmProblem& problem) {
    for (const bool aligned : {true, false}) {
      compile(name, problem, traits_of(problem, aligned));
    }
  }

  // The kernel that scales C.
  static void compile_scaling() {
    const GemmProblem any{1024, 1024, 1};
    compile("gemm_tiled", any, traits_of(any, false));
  }

  // The driver's calls during one of gemm().
  [[nodiscard]] std::string calls_of(Library& library, CUstream_st* stream = nullptr) const {
    static_cast<void>(application.take_calls());
    library.gemm(kProblem, 1, {kMemory, 32}, {kMemory, 48}, 0, {kResult, 48}, stream);
    return application.take_calls();
  }
};

}  // namespace autotune::test
