// A matrix multiplication: C = alpha * op(A) * op(B) + beta * C.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include "autotune/element_type.hpp"
#include "autotune/export.hpp"

namespace autotune {

class Problem;  // any operation's problem, as the inside of the library has it

// op(X) = X or op(X) = X transposed.
enum class Transpose : std::uint8_t { none = 0, transposed = 1 };

// The arithmetic that a result may be computed with.
//   strict: every product and sum in FP32 (FFMA); no tensor cores, no reduced inputs.
//   emulated: also kernels that reach the accuracy of FP32 with tensor cores, for finite operands
//     (docs/accuracy.md says what differs).
//   tf32: also all kernels that are about as accurate as products of operands rounded to TF32, 11
//     significant bits (docs/accuracy.md says what differs).
// The fastest of them is chosen: what is known of a stricter math counts for a weaker one.
enum class Math : std::uint8_t { strict = 0, emulated = 1, tf32 = 2 };

// The order of all three matrices in memory: row after row, or column after column as in BLAS.
enum class Order : std::uint8_t { row_major = 0, column_major = 1 };

// One shape, of one product or of a batch of them. op(A) is m x k, op(B) is k x n, C is m x n.
// 0 <= m, n, k, batch <= 2147483647.
struct GemmProblem {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  Transpose op_a = Transpose::none;
  Transpose op_b = Transpose::none;
  Math math = Math::strict;
  Order order = Order::row_major;
  std::int64_t batch = 1;  // products, each of the sizes above
  // A and B are both f32, or both bf16 or both f16; C is as they are, or f32; sums are f32.
  GemmTypes types = {};

  friend bool operator==(const GemmProblem& a, const GemmProblem& b) {
    return a.members() == b.members();
  }
  friend bool operator!=(const GemmProblem& a, const GemmProblem& b) { return !(a == b); }
  friend bool operator<(const GemmProblem& a, const GemmProblem& b) {
    return a.members() < b.members();
  }

  // Returns the same product for matrices in row-major order: memory that holds X by columns holds
  // X transposed by rows, and C^T = op(B)^T op(A)^T.
  [[nodiscard]] GemmProblem row_major() const {
    if (order == Order::row_major) return *this;
    return {n,
            m,
            k,
            op_b,
            op_a,
            math,
            Order::row_major,
            batch,
            {types.b, types.a, types.c, types.accumulate}};
  }

  operator Problem() const;  // NOLINT(google-explicit-constructor): row_major(), in names

  // Floating-point operations of all products: 2 m n k batch.
  [[nodiscard]] double operations() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) *
           static_cast<double>(batch);
  }
  // Elements between two rows of A, B and C, or two columns in column-major order, when nothing
  // pads them.
  [[nodiscard]] std::int64_t lda() const {
    return (op_a == Transpose::none) == (order == Order::row_major) ? k : m;
  }
  [[nodiscard]] std::int64_t ldb() const {
    return (op_b == Transpose::none) == (order == Order::row_major) ? n : k;
  }
  [[nodiscard]] std::int64_t ldc() const { return order == Order::row_major ? n : m; }

 private:
  [[nodiscard]] std::tuple<std::int64_t, std::int64_t, std::int64_t, Transpose, Transpose, Math,
                           Order, std::int64_t, GemmTypes>
  members() const {
    return {m, n, k, op_a, op_b, math, order, batch, types};
  }
};

// "1024x512x2048" (m x n x k), with " TN" and the like behind it when an operand is transposed, and
// " column-major", " batch 64" and the types, unless they are FP32, behind that.
[[nodiscard]] AUTOTUNE_API std::string to_string(const GemmProblem& problem);
[[nodiscard]] AUTOTUNE_API std::string to_string(Math math);
// The types of A, B, C and the sums: "f32", "bf16" or "f16" for matrices of one type with FP32
// sums, "f64" for FP64 throughout, "bf16-f32" where C is FP32, else all four: "bf16-f16-f32-f32".
[[nodiscard]] AUTOTUNE_API std::string to_string(const GemmTypes& types);
// "NN", "NT", "TN" or "TT": op(A), then op(B).
[[nodiscard]] AUTOTUNE_API std::string layout_text(const GemmProblem& problem);

// Inverse of to_string(Math), to_string(GemmTypes) and layout_text; throw UsageError for anything
// else.
[[nodiscard]] AUTOTUNE_API Math math_from_string(const std::string& text);
[[nodiscard]] AUTOTUNE_API GemmTypes types_from_string(const std::string& text);
AUTOTUNE_API void set_layout(GemmProblem& problem, const std::string& layout);

}  // namespace autotune
