// The common part of the descriptions of kernels with TF32 operands (gemm_tf32, gemm_tf32_wgmma).
#pragma once

#include <cstdint>

#include "autotune/problem.hpp"

#include "kernel_templates/kernel_template.hpp"

namespace autotune {

// Returns the TF32 products that are computed for one of FP32.
[[nodiscard]] inline int tf32_products(const GemmProblem& problem) {
  return problem.math == Math::tf32 ? 1 : 3;
}

[[nodiscard]] inline TensorProducts tf32_tensor_products(const GemmProblem& problem) {
  return {TensorInput::tf32, tf32_products(problem)};
}

[[nodiscard]] inline bool supports_tf32_products(const GemmProblem& problem) {
  // With fewer terms the chain of FP32 is more accurate than three products.
  constexpr std::int64_t kLeastEmulatedK = 128;
  return problem.batch == 1 && (problem.math == Math::tf32 ||
                                (problem.math == Math::emulated && problem.k >= kLeastEmulatedK));
}

}  // namespace autotune
