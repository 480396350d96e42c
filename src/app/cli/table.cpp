#include "cli/table.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace autotune {
namespace {

bool is_number(const std::string& cell) {
  return cell == "-" || cell.empty() ||
         (cell.find_first_not_of("0123456789.,+-~x%e ()") == std::string::npos &&
          cell.find_first_of("0123456789") != std::string::npos);
}

std::string csv_cell(const std::string& text) {
  const std::string cell = printable(text, "\r\n");
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();
const std::string kBetween = "  ";   // columns
const std::string kIndent = "    ";  // before columns that follow below

struct ColumnLayout {
  std::size_t width = 0;
  bool numeric = true;
};

// The first of the rows is the header.
std::vector<ColumnLayout> layout_of(const std::vector<std::vector<std::string>>& rows) {
  std::vector<ColumnLayout> layout(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < layout.size(); ++i) {
      layout[i].width = std::max(layout[i].width, row[i].size());
      layout[i].numeric = layout[i].numeric && (&row == &rows.front() || is_number(row[i]));
    }
  }
  return layout;
}

// Returns how many columns fit beside each other, at least one.
std::size_t columns_that_fit(const std::vector<ColumnLayout>& layout, std::size_t most) {
  std::size_t used = layout.front().width;
  std::size_t fitting = 1;
  while (fitting < layout.size() && used + kBetween.size() + layout[fitting].width <= most) {
    used += kBetween.size() + layout[fitting++].width;
  }
  return fitting;
}

std::string without_spaces_behind(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

// Indented lines of at most so many characters, broken behind commas and spaces; a longer word has
// a line of its own.
std::string folded(const std::string& text, std::size_t columns) {
  std::string lines;
  std::string line = kIndent;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find_first_of(", ", start), text.size() - 1) + 1;
    const std::string word = text.substr(start, end - start);
    if (line.size() > kIndent.size() && line.size() + word.size() > columns) {
      lines += without_spaces_behind(std::exchange(line, kIndent)) + "\n";
    }
    line += word;
    start = end;
  }
  return lines + without_spaces_behind(line) + "\n";
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

std::string Table::text(std::optional<std::size_t> columns) const {
  std::vector<std::vector<std::string>> rows = {header_};
  rows.insert(rows.end(), rows_.begin(), rows_.end());
  for (auto& row : rows) {
    for (std::string& cell : row) cell = printable(cell);
  }
  const std::vector<ColumnLayout> layout = layout_of(rows);
  const std::size_t beside = columns_that_fit(layout, columns.value_or(kUnlimited));
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < beside; ++i) {
      const std::string padding(layout[i].width - row[i].size(), ' ');
      if (i > 0) line += kBetween;
      line += layout[i].numeric ? padding + row[i] : row[i] + padding;
    }
    std::string below;
    for (std::size_t i = beside; i < row.size(); ++i) {
      if (!row[i].empty()) below += (below.empty() ? "" : kBetween) + row[i];
    }
    text += without_spaces_behind(line) + "\n";
    if (!below.empty()) text += folded(below, *columns);
  }
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
