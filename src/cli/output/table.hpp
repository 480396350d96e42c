// Text tables and CSV.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autotune/problem.hpp"

namespace autotune {

// The text with a question mark in place of each byte that is not UTF-8, of each control character
// that is not kept, which a terminal would act upon, and of each mark that changes the order of
// what is shown. For text from databases, files and arguments.
[[nodiscard]] std::string printable(std::string_view text, std::string_view kept = "");

// "1 size", "2 sizes", "0 sizes".
template <typename Count>
[[nodiscard]] std::string counted(Count count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

// A size as a table's first column; with the math, where results are of more than one.
[[nodiscard]] std::string size_text(const GemmProblem& problem, bool with_math);

// Rows of cells under a header. Columns whose cells all are numbers (or "-") are right-aligned.
class Table {
 public:
  explicit Table(std::vector<std::string> header);
  void add(std::vector<std::string> row);

  // In lines of at most `columns` characters, if a number is given: the last columns of a table
  // that is wider follow below each row, indented.
  [[nodiscard]] std::string text(std::optional<std::size_t> columns = std::nullopt) const;
  // RFC 4180, but for the ends of lines, which are those of Unix. A text that a spreadsheet would
  // take for a formula has an apostrophe before it.
  [[nodiscard]] std::string csv() const;

 private:
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
};

// A column of rates in the unit that suits the largest of them.
class RateColumn {
 public:
  void add(double gflops) { largest_ = std::max(largest_, gflops); }
  [[nodiscard]] std::string title() const { return in_teraflops() ? "TFLOP/s" : "GFLOP/s"; }
  [[nodiscard]] std::string text(double gflops) const;

 private:
  [[nodiscard]] bool in_teraflops() const { return largest_ >= 1000; }
  double largest_ = 0;
};

}  // namespace autotune
