#include "cli/option_values.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <utility>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "cli/table.hpp"

namespace autotune {
namespace {

constexpr std::size_t kMaxQuoted = 40;
constexpr double kMaxSeconds = 1e9;

// The number at the start of a text, and the rest.
std::optional<std::pair<double, std::string_view>> leading_number(std::string_view text) {
  double value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc()) return std::nullopt;
  return std::pair(value, std::string_view(end, last));
}

constexpr std::size_t kMaxItems = 1024;

GemmProblem parse_item(const std::string& item) {
  std::vector<std::int64_t> numbers;
  for (const std::string& part : items_of(item, 'x')) {
    if (const auto number = parse_whole_number(part)) numbers.push_back(*number);
  }
  const auto parts = static_cast<std::size_t>(std::count(item.begin(), item.end(), 'x')) + 1;
  if (numbers.size() != parts || (parts != 1 && parts != 3)) {
    throw UsageError(fmt::format(
        "{} must be N or MxNxK with whole numbers from 1 to {}, e.g. --sizes 1024,2048x512x1024",
        item.empty() ? "an empty item is not a size: it" : in_quotes(item), kMaxSize));
  }
  if (parts == 1) return {.m = numbers[0], .n = numbers[0], .k = numbers[0]};
  return {.m = numbers[0], .n = numbers[1], .k = numbers[2]};
}

// The file's lines as one list; a line end at the end of the file adds no item.
std::string read_list(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    throw UsageError(fmt::format("the file {} cannot be read: {}; it must have sizes, one a line",
                                 in_quotes(path), std::strerror(errno)));
  }
  std::string list;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    list += (list.empty() ? "" : ",") + line;
    if (list.size() > kMaxItems * 64) break;  // longer than any list that is allowed
  }
  if (file.bad() || list.empty()) {
    throw UsageError("the file " + in_quotes(path) +
                     " is empty or a folder: it must have sizes, one a line");
  }
  return list;
}

}  // namespace

std::string in_quotes(std::string_view text) {
  return "'" + printable(text.substr(0, kMaxQuoted)) + (text.size() > kMaxQuoted ? "..." : "") +
         "'";
}

std::vector<std::string> items_of(std::string_view text, char separator) {
  std::vector<std::string> items;
  while (true) {
    const std::size_t at = text.find(separator);
    items.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return items;
    text.remove_prefix(at + 1);
  }
}

std::optional<std::int64_t> parse_whole_number(std::string_view text, std::int64_t most) {
  if (text.empty() || text.front() < '1' || text.front() > '9') return std::nullopt;
  std::int64_t value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc() || end != last || value > most) return std::nullopt;
  return value;
}

std::optional<std::vector<std::int64_t>> parse_whole_numbers(std::string_view list) {
  std::vector<std::int64_t> values;
  for (const std::string& item : items_of(list)) {
    const auto value = parse_whole_number(item);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

std::optional<double> parse_error_limit(std::string_view text) {
  const auto number = leading_number(text);
  if (!number || !number->second.empty() || !(number->first > 0) || number->first >= 1) {
    return std::nullopt;
  }
  return number->first;
}

std::optional<double> parse_share(std::string_view text) {
  const auto number = leading_number(text);
  if (!number || number->second != "%" || !(number->first > 0) || number->first > 100) {
    return std::nullopt;
  }
  return number->first / 100;
}

std::optional<double> parse_seconds(std::string_view text) {
  const auto number = leading_number(text);
  if (!number) return std::nullopt;
  const auto& [value, unit] = *number;
  const double scale = unit.empty() || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  const double seconds = value * scale;
  if (!(seconds > 0) || seconds > kMaxSeconds) return std::nullopt;
  return seconds;
}

std::vector<GemmProblem> parse_sizes(const std::string& text) {
  const std::string list = !text.empty() && text.front() == '@' ? read_list(text.substr(1)) : text;
  const std::vector<std::string> items = items_of(list);
  if (items.size() > kMaxItems) {
    throw UsageError(
        fmt::format("the list has {} items, and at most {} are allowed", items.size(), kMaxItems));
  }
  std::vector<GemmProblem> problems;
  for (const std::string& item : items) {
    const GemmProblem problem = parse_item(item);
    if (std::find(problems.begin(), problems.end(), problem) == problems.end()) {
      problems.push_back(problem);
    }
  }
  return problems;
}

bool same_size(const GemmProblem& a, const GemmProblem& b) {
  return a.m == b.m && a.n == b.n && a.k == b.k;
}

}  // namespace autotune
