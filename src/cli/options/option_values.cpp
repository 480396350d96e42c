#include "cli/options/option_values.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iostream>
#include <utility>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "cli/output/table.hpp"

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

constexpr std::size_t kMaxSizes = 1024;
constexpr std::size_t kMaxFileBytes = std::size_t{1} << 20;

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

void add_sizes(std::vector<GemmProblem>& problems, const std::string& list) {
  for (const std::string& item : items_of(list)) {
    const GemmProblem problem = parse_item(item);
    if (std::find(problems.begin(), problems.end(), problem) != problems.end()) continue;
    if (problems.size() == kMaxSizes) {
      throw UsageError(fmt::format("at most {} different sizes are allowed", kMaxSizes));
    }
    problems.push_back(problem);
  }
}

// The file's text. A file with more than a list of sizes can have, e.g. one without an end, is
// refused.
std::string read_text(const std::string& path, const std::string& name) {
  errno = 0;
  std::ifstream file(path);
  std::istream& input = path == "-" ? std::cin : file;
  std::string text(kMaxFileBytes + 1, '\0');
  if (input) input.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(input.gcount()));
  if (input.bad() || (path != "-" && !file.is_open())) {
    throw UsageError(fmt::format("{} cannot be read: {}; it must have sizes, one a line", name,
                                 std::strerror(errno)));
  }
  if (text.size() > kMaxFileBytes) {
    throw UsageError(fmt::format("{} has more than 1 MiB: it must have sizes, one a line", name));
  }
  return text;
}

// The part of a line before its comment, without space around it.
std::string_view without_comment(std::string_view line) {
  constexpr std::string_view kSpace = " \t\r";
  line = line.substr(0, line.find('#'));
  line.remove_prefix(std::min(line.find_first_not_of(kSpace), line.size()));
  return line.substr(0, line.find_last_not_of(kSpace) + 1);
}

// The sizes of a file, "-" for standard input, of which lines may be empty.
std::vector<GemmProblem> read_sizes(const std::string& path) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  const std::string name = path == "-" ? "standard input" : "the file " + in_quotes(path);
  std::string text = read_text(path, name);
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  std::vector<GemmProblem> problems;
  const std::vector<std::string> lines = items_of(text, '\n');
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string list(without_comment(lines[i]));
    if (list.empty()) continue;
    try {
      add_sizes(problems, list);
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("{}, line {}: {}", name, i + 1, error.what()));
    }
  }
  if (problems.empty()) throw UsageError(name + " has no sizes: it must have them, one a line");
  return problems;
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

std::optional<double> parse_positive_number(std::string_view text) {
  const auto number = leading_number(text);
  const bool is_one = number && number->second.empty() && number->first > 0;
  return is_one && std::isfinite(number->first) ? std::optional(number->first) : std::nullopt;
}

std::optional<double> parse_error_limit(std::string_view text) {
  const std::optional<double> number = parse_positive_number(text);
  return number && *number < 1 ? number : std::nullopt;
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
  if (text.starts_with('@')) return read_sizes(text.substr(1));
  std::vector<GemmProblem> problems;
  add_sizes(problems, text);
  return problems;
}

bool same_size(const GemmProblem& a, const GemmProblem& b) {
  return a.m == b.m && a.n == b.n && a.k == b.k;
}

}  // namespace autotune
