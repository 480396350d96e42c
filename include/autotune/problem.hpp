// A matrix multiplication: C = alpha * op(A) * op(B) + beta * C.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "autotune/export.hpp"

namespace autotune {

class Problem;  // any operation's problem, as the inside of the library has it

// The layout of an operand in memory, row-major: op(X) = X or op(X) = X transposed.
enum class Transpose : std::uint8_t { none = 0, transposed = 1 };

// The arithmetic that a result may be computed with.
//   strict: every product and sum in FP32 (FFMA); no tensor cores, no reduced inputs.
enum class Math : std::uint8_t { strict = 0 };

// One shape. op(A) is m x k, op(B) is k x n, C is m x n, in elements of FP32, row-major.
// 1 <= m, n, k <= 2147483647.
struct GemmProblem {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  Transpose op_a = Transpose::none;
  Transpose op_b = Transpose::none;
  Math math = Math::strict;

  auto operator<=>(const GemmProblem&) const = default;

  operator Problem() const;  // NOLINT(google-explicit-constructor): the same problem, in names

  // Floating-point operations of one product: 2 m n k.
  [[nodiscard]] double operations() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  }
  // Elements between two rows of A, B and C when nothing pads them.
  [[nodiscard]] std::int64_t lda() const { return op_a == Transpose::none ? k : m; }
  [[nodiscard]] std::int64_t ldb() const { return op_b == Transpose::none ? n : k; }
  [[nodiscard]] std::int64_t ldc() const { return n; }
};

// "1024x512x2048" (m x n x k), with " TN" and the like behind it when an operand is transposed.
[[nodiscard]] AUTOTUNE_API std::string to_string(const GemmProblem& problem);
[[nodiscard]] AUTOTUNE_API std::string to_string(Math math);
// "NN", "NT", "TN" or "TT": op(A), then op(B).
[[nodiscard]] AUTOTUNE_API std::string layout_text(const GemmProblem& problem);

// Inverse of to_string(Math) and layout_text; throw UsageError for anything else.
[[nodiscard]] AUTOTUNE_API Math math_from_string(const std::string& text);
AUTOTUNE_API void set_layout(GemmProblem& problem, const std::string& layout);

}  // namespace autotune
