// Matrix multiplication as an operation: C = alpha * op(A) * op(B) + beta * C, row-major.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "autotune/problem.hpp"

#include "core/kernel_signature.hpp"
#include "core/problem.hpp"
#include "operation/operation.hpp"

namespace autotune {

inline constexpr const char* kGemm = "gemm";

// The texts of Math, in the order of its values.
inline constexpr std::array<std::string_view, 3> kMathNames = {"strict", "emulated", "tf32"};

// The tensors of the operation, in their order.
inline constexpr std::uint8_t kGemmA = 0;
inline constexpr std::uint8_t kGemmB = 1;
inline constexpr std::uint8_t kGemmC = 2;

[[nodiscard]] const Operation& gemm_operation();

// Returns whether kernels of these element types exist: FP32 alone; or operands of BF16 or FP16,
// results of the same type or FP32, and sums in FP32.
[[nodiscard]] bool are_computed(const GemmTypes& types);

// 2 m n k batch / t in GFLOP/s.
[[nodiscard]] inline double gflops(const GemmProblem& problem, double time_us) {
  return gflops(Work{.operations = problem.operations()}, time_us);
}

// Throws UsageError for a batch with an operand of more elements, in all of its products, than the
// largest single product can have. What follows from the sizes of all others, such as numbers of
// blocks, has at most 63 bits.
void check_operands(const GemmProblem& problem);
[[nodiscard]] bool operands_fit(const GemmProblem& problem);

// The typed form of a problem; Problem(gemm_problem(p)) == p. Throws Error for a problem that is no
// matrix multiplication: of another operation, with other sizes and traits than these have, or with
// a size that is not from 1 to 2147483647; UsageError for unknown traits; also what
// check_operands() throws.
[[nodiscard]] GemmProblem gemm_problem(const Problem& problem);

// The same product by its own and by every stricter math, the problem itself first and the
// strictest last. A kernel of a stricter math is accurate enough for it.
[[nodiscard]] std::vector<GemmProblem> with_stricter_maths(const GemmProblem& problem);

// The typed form of a problem from a database, in which other versions may have stored others;
// nullopt where the operation does not have it.
[[nodiscard]] std::optional<GemmProblem> if_gemm(const Problem& problem);

// The products of a problem: 1 unless it is a batch.
[[nodiscard]] std::int64_t batch_of(const Problem& problem);

// The arguments that every GEMM kernel takes:
//   (a, b, c, m, n, k, lda, ldb, ldc, alpha, beta, workspace, raster)
// followed by the tensor maps of A and B if it takes them, and for a batch by
//   (batch, stride_a, stride_b, stride_c)
[[nodiscard]] KernelSignature gemm_signature(const Problem& problem = {},
                                             bool with_tensor_maps = false);

}  // namespace autotune
