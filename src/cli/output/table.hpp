// Text tables and CSV.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/time_text.hpp"

namespace autotune {

// The text with a question mark in place of each byte that is not UTF-8, of each control character
// that is not kept, which a terminal would act upon, and of each mark that changes the order of
// what is shown. For text from databases, files and arguments.
[[nodiscard]] std::string printable(std::string_view text, std::string_view kept = "");

// Lines of at most so many characters, each behind the indentation, broken behind commas and
// spaces; a longer word has a line of its own.
[[nodiscard]] std::string folded(const std::string& text, std::size_t columns,
                                 const std::string& indent = "");

// "1 size", "2 sizes", "0 sizes".
template <typename Count>
[[nodiscard]] std::string counted(Count count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

// Rows of cells under a header. Columns whose cells all are numbers, times or "-" are
// right-aligned.
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

// A column of times in microseconds. Where one of them is too long for that, each has its unit.
class TimeColumn {
 public:
  void add(double us) { longest_ = std::max(longest_, us); }
  [[nodiscard]] std::string title(const std::string& name = "time") const {
    return has_units() ? name : name + " us";
  }
  [[nodiscard]] std::string text(double us) const;

 private:
  [[nodiscard]] bool has_units() const { return longest_ >= kMostMicroseconds; }
  double longest_ = 0;
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
