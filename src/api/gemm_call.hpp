// The arguments of a product, checked as far as that needs no device.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "autotune/autotune.hpp"

#include "api/prepared_operand.hpp"
#include "core/element_type.hpp"
#include "core/kernel_signature.hpp"
#include "core/problem.hpp"

namespace autotune {

[[nodiscard]] inline std::uint64_t address_of(const void* matrix) {
  return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(matrix));
}

// A product in row-major terms: lds as they are meant, and nothing that was prepared of nothing.
// Its c is the matrix that is written.
struct GemmCall : GemmArguments {
  GemmProblem problem = {};
  MutableMatrix copied = {};  // the C that is copied to c first, or null

  [[nodiscard]] PointerMode pointer_mode() const {
    return alpha_ptr == nullptr ? PointerMode::host : PointerMode::device;
  }
  [[nodiscard]] bool has_scalars_in_memory() const { return alpha_ptr != nullptr; }

  // Returns whether there is no C, so that nothing is done.
  [[nodiscard]] bool is_empty() const {
    return problem.m == 0 || problem.n == 0 || problem.batch == 0;
  }
  // Returns whether A and B are multiplied; otherwise C is scaled by beta.
  [[nodiscard]] bool multiplies() const {
    return (alpha != 0 || has_scalars_in_memory()) && problem.k > 0;
  }
  [[nodiscard]] bool reads_c() const { return beta != 0 || has_scalars_in_memory(); }
  // Returns whether the operands lie as Alignment::of_16_bytes has it, which is also what
  // CodeTraits::aligned needs.
  [[nodiscard]] bool is_aligned() const {
    const auto bytes = [this](const auto& matrix, std::int64_t packed_ld) {
      const std::int64_t steps = matrix.ld | packed_ld | (problem.batch > 1 ? matrix.stride : 0);
      return steps * size_bytes(matrix.type);
    };
    const std::uint64_t addresses = address_of(a.data) | address_of(b.data) | address_of(c.data);
    const std::int64_t steps =
        bytes(a, problem.lda()) | bytes(b, problem.ldb()) | bytes(c, problem.ldc());
    return addresses % 16 == 0 && steps % 16 == 0 && steps < std::int64_t{1} << 40;
  }
};

// The tensors and sizes that a launch passes, in the order of the operation gemm.
[[nodiscard]] inline std::array<LaunchValues::Tensor, 3> placed_tensors(const GemmCall& call) {
  return {{{address_of(call.a.data), call.a.ld, call.a.stride},
           {address_of(call.b.data), call.b.ld, call.b.stride},
           {address_of(call.c.data), call.c.ld, call.c.stride}}};
}
[[nodiscard]] inline std::array<std::int64_t, 4> sizes_of(const GemmProblem& problem) {
  return {problem.m, problem.n, problem.k, problem.batch};
}

// The operands of a call as kernels see them.
[[nodiscard]] inline OperandPlace place_of_a(const GemmCall& call) {
  return {call.a.data,    call.a.type,    call.a.ld,
          call.problem.m, call.problem.k, call.problem.op_a == Transpose::none};
}
[[nodiscard]] inline OperandPlace place_of_b(const GemmCall& call) {
  return {call.b.data,    call.b.type,    call.b.ld,
          call.problem.n, call.problem.k, call.problem.op_b == Transpose::transposed};
}

// A check that finds something wrong throws UsageError, or returns false.
enum class OnFault : bool { throws, returns };

// Throws UsageError for sizes out of range, unknown enumerators, and types that no kernel computes.
void check_problem(const GemmProblem& problem);
// The same, and for problems without anything to multiply.
void check_tunable(const GemmProblem& problem);
// Throws UsageError for a limit of the error that is not above 0 and below 1.
void check_max_error(std::optional<double> max_error);
// The call with an operand as Library::prepare_operand() gets it, and nothing else. Throws
// UsageError.
[[nodiscard]] GemmCall checked_operand(const GemmProblem& problem, Operand which, Matrix matrix,
                                       Stream stream);
[[nodiscard]] GemmCall unchecked_call(const GemmProblem& problem, const GemmArguments& arguments);
// Returns whether a call is right, as Library::gemm() says. `call`: that of the others.
bool is_right(const GemmCall& call, const GemmProblem& problem, const GemmArguments& arguments,
              OnFault on_fault);
// Throws UsageError where it is not.
[[nodiscard]] GemmCall checked_call(const GemmProblem& problem, const GemmArguments& arguments);

}  // namespace autotune
