// Kernels that prepare operands: empty ones of the names that gemm_fp16x3 and gemm_fp16x1 have.
#pragma once

#include <cstdio>
#include <optional>
#include <string>

#include "gpu/nvrtc.hpp"
#include "tests/api/fake_machine.hpp"

namespace autotune::test {

inline const GemmProblem kEmulated{.m = 1024, .n = 1024, .k = 1024, .math = Math::emulated};
inline float* const kWeights = kMemory + (1 << 24);

// Without NVRTC it prints that the test is skipped and why, and returns nullopt.
inline std::optional<std::string> empty_kernels() {
  try {
    return gpu::Nvrtc::open()
        ->compile("empty",
                  "extern \"C\" __global__ void gemm_fp16x3() {}\n"
                  "extern \"C\" __global__ void gemm_fp16x3_prepare() {}\n"
                  "extern \"C\" __global__ void gemm_fp16x1() {}\n"
                  "extern \"C\" __global__ void gemm_fp16x1_prepare() {}\n",
                  {"-arch=sm_90"})
        .image;
  } catch (const EnvironmentError& error) {
    std::printf("SKIPPED: %s\n", error.what());
    return std::nullopt;
  }
}

inline void store_kernels(const std::string& image, const GemmProblem& problem) {
  const char* const name = problem.math == Math::tf32 ? "gemm_fp16x1" : "gemm_fp16x3";
  const KernelTemplate& kernel = *built_in_kernels().find(name);
  CubinStore store = open_cubin_store();
  store.put(cubin_key("any", std::string(kernel.source),
                      compile_options(kernel, kernel.default_configuration(problem),
                                      code_traits(kernel, problem), "sm_90")),
            {image, "", {}});
}

}  // namespace autotune::test
