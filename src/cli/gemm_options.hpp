// The matrix multiplications that options ask for: --sizes, --layout, --type, --batch and --math.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autotune/problem.hpp"

#include "core/problem.hpp"

namespace autotune {

inline constexpr std::array<std::string_view, 4> kLayouts = {"NN", "NT", "TN", "TT"};

// "1024,512x256x2048": 1 to 1024 items with commas between them, each N or MxNxK, each number
// [1-9][0-9]* and at most 2147483647. "@FILE" reads the items from a file of at most 1 MiB, and
// "@-" from standard input: one a line, with comments from '#' on. Duplicates are merged, the first
// of them kept. The problems are single strict products of matrices that are not transposed. Throws
// UsageError that quotes the item that is wrong and names its line.
[[nodiscard]] std::vector<Problem> parse_sizes(const std::string& text);
// "TN"; nullopt for any other text, here and below.
[[nodiscard]] std::optional<std::string> parse_layout(const std::string& text);
// "emulated".
[[nodiscard]] std::optional<Math> parse_math(const std::string& text);

// "bf16"; a type of matrices.
[[nodiscard]] std::optional<ElementType> parse_type(const std::string& text);

// Compares m, n and k, and nothing else.
[[nodiscard]] bool same_size(const Problem& a, const Problem& b);
// The problem in each of these maths.
[[nodiscard]] std::vector<Problem> in_maths(const Problem& problem, const std::vector<Math>& maths);
// The problem with other sizes.
[[nodiscard]] Problem resized(const Problem& problem, std::int64_t m, std::int64_t n,
                              std::int64_t k);

struct GemmOptions {
  std::vector<Problem> sizes;           // as parse_sizes() has them, or problems of an own kernel
  std::string sizes_file;               // that they were read from; "-": standard input
  std::optional<std::string> layout;    // empty: NN
  std::optional<ElementType> type;      // of A and B; empty: f32
  std::optional<ElementType> out_type;  // of C; empty: as A and B
  std::optional<std::int64_t> batch;    // empty: 1
  std::optional<Math> math;             // empty: see arithmetic() and maths()
  std::optional<double> max_error;      // relative Frobenius error

  [[nodiscard]] Math arithmetic() const { return math.value_or(Math::strict); }
  // The maths of which results will do, the strictest first.
  [[nodiscard]] std::vector<Math> maths() const;
  // Throws UsageError for types that no kernel computes, and for a math of FP32 with others.
  [[nodiscard]] GemmTypes types() const;
  // A size with the batch, the types and the arithmetic that were asked for, in a layout. Throws
  // UsageError for a batch that is too large.
  [[nodiscard]] Problem in_layout(const Problem& size, std::string_view layout) const;
  // The same in the layout that was asked for.
  [[nodiscard]] Problem as_asked(const Problem& size) const;
  // The sizes in the same way.
  [[nodiscard]] std::vector<Problem> problems() const;
  // The one size of commands that take no more, in the same way. Throws UsageError for several.
  [[nodiscard]] Problem one_problem() const;
  // Returns whether sizes, a layout, types, a batch or an arithmetic were given.
  [[nodiscard]] bool choose_problems() const;
  // Returns whether a problem is a matrix multiplication of the sizes, the layout, the types, the
  // batch and the arithmetic that were given. Without any of them every problem is chosen.
  [[nodiscard]] bool selects(const Problem& problem) const;
};

}  // namespace autotune
