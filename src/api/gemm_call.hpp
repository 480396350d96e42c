// The arguments of a product, checked as far as that needs no device.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "autotune/autotune.hpp"

#include "api/prepared_operand.hpp"
#include "core/kernel_signature.hpp"
#include "core/problem.hpp"

namespace autotune {

[[nodiscard]] inline std::uint64_t address_of(const float* matrix) {
  return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(matrix));
}

// A product in row-major terms.
struct GemmCall {
  GemmProblem problem;
  float alpha;
  const float* a;
  std::int64_t lda;
  const float* b;
  std::int64_t ldb;
  float beta;
  float* c;
  std::int64_t ldc;
  Stream stream;
  // Elements from one product's matrix to the next; of no meaning for one product.
  std::int64_t stride_a;
  std::int64_t stride_b;
  std::int64_t stride_c;
  // What was prepared of A and B, or nullptr.
  const PreparedOperand* prepared_a;
  const PreparedOperand* prepared_b;

  // Returns whether there is no C, so that nothing is done.
  [[nodiscard]] bool is_empty() const {
    return problem.m == 0 || problem.n == 0 || problem.batch == 0;
  }
  // Returns whether A and B are multiplied; otherwise C is scaled by beta.
  [[nodiscard]] bool multiplies() const { return alpha != 0 && problem.k > 0; }
  // Returns whether the operands lie as Alignment::of_16_bytes has it, which is also what
  // CodeTraits::aligned needs: a tensor map's rows are less than 2^40 bytes apart.
  [[nodiscard]] bool is_aligned() const {
    constexpr std::int64_t kVector = 4;  // elements of 16 bytes
    const std::uint64_t addresses = address_of(a) | address_of(b) | address_of(c);
    std::int64_t steps = lda | ldb | ldc | problem.lda() | problem.ldb() | problem.ldc();
    if (problem.batch > 1) steps |= stride_a | stride_b | stride_c;
    return addresses % 16 == 0 && steps % kVector == 0 && steps < std::int64_t{1} << 38;
  }
};

// The tensors and sizes that a launch passes, in the order of the operation gemm.
[[nodiscard]] inline std::array<LaunchValues::Tensor, 3> placed_tensors(const GemmCall& call) {
  return {{{address_of(call.a), call.lda, call.stride_a},
           {address_of(call.b), call.ldb, call.stride_b},
           {address_of(call.c), call.ldc, call.stride_c}}};
}
[[nodiscard]] inline std::array<std::int64_t, 4> sizes_of(const GemmProblem& problem) {
  return {problem.m, problem.n, problem.k, problem.batch};
}

// The operands of a call as kernels see them.
[[nodiscard]] inline OperandPlace place_of_a(const GemmCall& call) {
  return {call.a, call.lda, call.problem.m, call.problem.k, call.problem.op_a == Transpose::none};
}
[[nodiscard]] inline OperandPlace place_of_b(const GemmCall& call) {
  return {call.b, call.ldb, call.problem.n, call.problem.k,
          call.problem.op_b == Transpose::transposed};
}

// Throws UsageError for sizes out of range and unknown enumerators.
void check_problem(const GemmProblem& problem);
// The same, and for problems without anything to multiply.
void check_tunable(const GemmProblem& problem);
// Throws UsageError for a limit of the error that is not above 0 and below 1.
void check_max_error(std::optional<double> max_error);
// The call with an operand as Library::prepare_operand() gets it, and nothing else. Throws
// UsageError.
[[nodiscard]] GemmCall checked_operand(const GemmProblem& problem, Operand which, Matrix matrix,
                                       Stream stream);
// Throws UsageError as Library::gemm() says.
[[nodiscard]] GemmCall checked_call(const GemmProblem& problem, float alpha, Matrix a, Matrix b,
                                    float beta, MutableMatrix c, Stream stream);

}  // namespace autotune
