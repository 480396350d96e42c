#include "cli/output/table.hpp"

#include <limits>
#include <utility>

#include <fmt/format.h>

namespace autotune {
namespace {

bool is_number(std::string cell) {
  for (const std::string_view unit : {" us", " ms", " s"}) {
    if (cell.ends_with(unit)) cell.resize(cell.size() - unit.size());
  }
  return cell == "-" || cell.empty() ||
         (cell.find_first_not_of("0123456789.,+-~x%e ()") == std::string::npos &&
          cell.find_first_of("0123456789") != std::string::npos);
}

// Spreadsheets take a text that begins with one of four characters for a formula, and do not with
// an apostrophe before it.
std::string csv_cell(const std::string& text) {
  std::string cell = printable(text, "\n");
  const bool is_formula = cell.find_first_of("=+-@") == 0 && !is_number(cell);
  if (is_formula) cell.insert(0, 1, '\'');
  if (cell.find_first_of(",\"\n") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

// The bytes that a character in UTF-8 may begin with (The Unicode Standard, table 3-7). The second
// byte keeps out longer forms than needed, surrogates, and what is beyond U+10FFFF.
struct Utf8Form {
  unsigned char first_from, first_to;
  unsigned char second_from, second_to;
  std::size_t length;
};
constexpr Utf8Form kUtf8Forms[] = {
    {0x00, 0x7f, 0x00, 0x00, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
    {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
    {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};

// Returns the bytes of the first character of a text in UTF-8, 0 where they are not UTF-8. `text`
// is not empty.
std::size_t character_length(std::string_view text) {
  const auto is_within = [text](std::size_t i, unsigned char from, unsigned char to) {
    const auto byte = static_cast<unsigned char>(text[i]);
    return byte >= from && byte <= to;
  };
  const auto* const form = std::ranges::find_if(kUtf8Forms, [&](const Utf8Form& each) {
    return is_within(0, each.first_from, each.first_to);
  });
  if (form == std::end(kUtf8Forms) || form->length > text.size()) return 0;
  if (form->length > 1 && !is_within(1, form->second_from, form->second_to)) return 0;
  for (std::size_t i = 2; i < form->length; ++i) {
    if (!is_within(i, 0x80, 0xbf)) return 0;
  }
  return form->length;
}

// Returns the bytes of the first character, in UTF-8, if it is a control character or one that
// changes the order in which the others are shown; otherwise 0. `text` is not empty.
std::size_t control_length(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  const auto between = [](unsigned value, unsigned low, unsigned high) {
    return low <= value && value <= high;
  };
  if (byte(0) < 0x20 || byte(0) == 0x7f) return 1;
  if (byte(0) == 0xc2 && between(byte(1), 0x80, 0x9f)) return 2;
  if (byte(0) == 0xd8 && byte(1) == 0x9c) return 2;  // U+061C
  if (byte(0) != 0xe2) return 0;
  const bool orders =
      (byte(1) == 0x80 && (between(byte(2), 0x8e, 0x8f) || between(byte(2), 0xa8, 0xae))) ||
      (byte(1) == 0x81 && between(byte(2), 0xa6, 0xa9));  // U+200E to U+202E, U+2066 to U+2069
  return orders ? 3 : 0;
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

}  // namespace

std::string printable(std::string_view text, std::string_view kept) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const bool is_kept = kept.find(text.front()) != std::string_view::npos;
    const bool shows = length > 0 && (is_kept || control_length(text) == 0);
    shown += shows ? text.substr(0, length) : "?";
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  return shown;
}

std::string folded(const std::string& text, std::size_t columns, const std::string& indent) {
  std::string lines;
  std::string line = indent;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find_first_of(", ", start), text.size() - 1) + 1;
    const std::string word = text.substr(start, end - start);
    if (line.size() > indent.size() && line.size() + word.size() > columns) {
      lines += without_spaces_behind(std::exchange(line, indent)) + "\n";
    }
    line += word;
    start = end;
  }
  return lines + without_spaces_behind(line) + "\n";
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
    if (!below.empty()) text += folded(below, *columns, kIndent);
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

std::string TimeColumn::text(double us) const {
  return has_units() ? time_text(us) : fmt::format("{:.1f}", us);
}

std::string RateColumn::text(double gflops) const {
  return fmt::format("{:.2f}", in_teraflops() ? gflops * 1e-3 : gflops);
}

}  // namespace autotune
