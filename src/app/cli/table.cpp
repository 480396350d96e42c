#include "cli/table.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace autotune {
namespace {

bool is_number(const std::string& cell) {
  return cell == "-" || cell.empty() ||
         (cell.find_first_not_of("0123456789.,+-x%e ()") == std::string::npos &&
          cell.find_first_of("0123456789") != std::string::npos);
}

std::string csv_cell(const std::string& cell) {
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

Table::Table(std::vector<std::string> header) : header_(std::move(header)) {}

void Table::add(std::vector<std::string> row) {
  row.resize(header_.size());
  rows_.push_back(std::move(row));
}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  std::vector<bool> numeric;
  for (std::size_t column = 0; column < header_.size(); ++column) {
    std::size_t width = header_[column].size();
    bool all_numbers = true;
    for (const auto& row : rows_) {
      width = std::max(width, row[column].size());
      all_numbers = all_numbers && is_number(row[column]);
    }
    widths.push_back(width);
    numeric.push_back(all_numbers);
  }
  std::string text;
  const auto add_line = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t column = 0; column < cells.size(); ++column) {
      const std::string padding(widths[column] - cells[column].size(), ' ');
      if (column > 0) line += "  ";
      line += numeric[column] ? padding + cells[column] : cells[column] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add_line(header_);
  for (const auto& row : rows_) add_line(row);
  return text;
}

std::string Table::csv() const {
  std::string text;
  const auto add_line = [&](const std::vector<std::string>& cells) {
    for (std::size_t column = 0; column < cells.size(); ++column) {
      text += (column > 0 ? "," : "") + csv_cell(cells[column]);
    }
    text += "\r\n";
  };
  add_line(header_);
  for (const auto& row : rows_) add_line(row);
  return text;
}

std::string RateColumn::text(double gflops) const {
  return fmt::format("{:.2f}", in_teraflops() ? gflops * 1e-3 : gflops);
}

}  // namespace autotune
