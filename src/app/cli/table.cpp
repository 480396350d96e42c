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

std::string csv_cell(const std::string& text) {
  const std::string cell = printable(text, "\r\n");
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

std::string printable(std::string_view text, std::string_view kept) {
  std::string shown;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // In UTF-8, 0xc2 0x80 to 0xc2 0x9f are control characters too.
    const bool second = byte == 0xc2 && i + 1 < text.size() &&
                        static_cast<unsigned char>(text[i + 1]) >= 0x80 &&
                        static_cast<unsigned char>(text[i + 1]) < 0xa0;
    const bool control = byte < 0x20 || byte == 0x7f || second;
    shown += control && kept.find(text[i]) == std::string_view::npos ? '?' : text[i];
    if (second) ++i;
  }
  return shown;
}

Table::Table(std::vector<std::string> header) : header_(std::move(header)) {}

void Table::add(std::vector<std::string> row) {
  row.resize(header_.size());
  rows_.push_back(std::move(row));
}

std::string Table::text() const {
  std::vector<std::vector<std::string>> rows = {header_};
  rows.insert(rows.end(), rows_.begin(), rows_.end());
  for (auto& row : rows) {
    for (std::string& cell : row) cell = printable(cell);
  }
  std::vector<std::size_t> widths;
  std::vector<bool> numeric;
  for (std::size_t column = 0; column < header_.size(); ++column) {
    std::size_t width = 0;
    bool all_numbers = true;
    for (const auto& row : rows) {
      width = std::max(width, row[column].size());
      all_numbers = all_numbers && (&row == &rows.front() || is_number(row[column]));
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
  for (const auto& row : rows) add_line(row);
  return text;
}

std::string Table::csv() const {
  std::string text;
  const auto add_line = [&](const std::vector<std::string>& cells) {
    for (std::size_t column = 0; column < cells.size(); ++column) {
      text += (column > 0 ? "," : "") + csv_cell(cells[column]);
    }
    text += "\n";
  };
  add_line(header_);
  for (const auto& row : rows_) add_line(row);
  return text;
}

std::string RateColumn::text(double gflops) const {
  return fmt::format("{:.2f}", in_teraflops() ? gflops * 1e-3 : gflops);
}

}  // namespace autotune
