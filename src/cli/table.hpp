// Text tables and CSV.
#pragma once

#include <string>
#include <vector>

namespace autotune {

// Rows of cells under a header. Columns whose cells all are numbers (or "-") are right-aligned.
class Table {
 public:
  explicit Table(std::vector<std::string> header);
  void add(std::vector<std::string> row);

  [[nodiscard]] std::string text() const;
  // RFC 4180.
  [[nodiscard]] std::string csv() const;

 private:
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace autotune
