// Matrix multiplication as an operation: C = alpha * op(A) * op(B) + beta * C, row-major.
#pragma once

#include "autotune/problem.hpp"

#include "core/problem.hpp"
#include "operation/operation.hpp"

namespace autotune {

inline constexpr const char* kGemm = "gemm";

// The tensors of the operation, in their order.
enum GemmTensor : std::size_t { kGemmA = 0, kGemmB = 1, kGemmC = 2 };

// The typed form of a problem. Throws Error for a problem of another operation.
[[nodiscard]] GemmProblem gemm_problem(const Problem& problem);

[[nodiscard]] Operation gemm_operation();

}  // namespace autotune
