#include "cli/size_list.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "autotune/error.hpp"

namespace autotune {
namespace {

constexpr std::size_t kMaxItems = 1024;
constexpr std::size_t kMaxQuoted = 40;

// Quotes what the user gave: short, and nothing that a terminal would act upon.
std::string in_quotes(std::string_view text) {
  std::string shown;
  for (const char c : text.substr(0, kMaxQuoted)) {
    const auto byte = static_cast<unsigned char>(c);
    shown += byte >= 0x20 && byte != 0x7f ? c : '?';
  }
  return "'" + shown + (text.size() > kMaxQuoted ? "..." : "") + "'";
}

std::optional<std::int64_t> parse_number(std::string_view text) {
  if (text.empty() || text.front() < '1' || text.front() > '9') return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > kMaxSize) {
    return std::nullopt;
  }
  return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

GemmProblem parse_item(std::string_view item) {
  std::vector<std::int64_t> numbers;
  for (const std::string_view part : split(item, 'x')) {
    if (const auto number = parse_number(part))
      numbers.push_back(*number);
    else
      numbers.clear();
    if (numbers.empty()) break;
  }
  const auto parts = static_cast<std::size_t>(std::count(item.begin(), item.end(), 'x')) + 1;
  if (numbers.size() != parts || (parts != 1 && parts != 3)) {
    throw UsageError(fmt::format(
        "--sizes: {} is no size: expected N or MxNxK with whole numbers from 1 to {}, for example "
        "--sizes 1024,2048x512x1024",
        item.empty() ? "an empty item" : in_quotes(item), kMaxSize));
  }
  if (parts == 1) return {.m = numbers[0], .n = numbers[0], .k = numbers[0]};
  return {.m = numbers[0], .n = numbers[1], .k = numbers[2]};
}

// The file's lines as one list; a line end at the end of the file is no further item.
std::string read_list(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw UsageError("--sizes: the file " + in_quotes(path) + " cannot be read");
  std::string list;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    list += (list.empty() ? "" : ",") + line;
    if (list.size() > kMaxItems * 64) break;  // more than any list that is allowed
  }
  if (file.bad() || list.empty()) {
    throw UsageError("--sizes: the file " + in_quotes(path) + " has no sizes, one a line");
  }
  return list;
}

}  // namespace

std::vector<GemmProblem> parse_sizes(const std::string& text) {
  const std::string list = !text.empty() && text.front() == '@' ? read_list(text.substr(1)) : text;
  const std::vector<std::string_view> items = split(list, ',');
  if (items.size() > kMaxItems) {
    throw UsageError(
        fmt::format("--sizes has {} items: at most {} are allowed", items.size(), kMaxItems));
  }
  std::vector<GemmProblem> problems;
  for (const std::string_view item : items) {
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

std::vector<std::int64_t> parse_integers(const std::string& text, const std::string& option) {
  std::vector<std::int64_t> values;
  for (const std::string_view item : split(text, ',')) {
    const auto value = parse_number(item);
    if (!value) {
      throw UsageError(fmt::format("{}: {} is no whole number from 1 to {}", option,
                                   item.empty() ? "an empty item" : in_quotes(item), kMaxSize));
    }
    values.push_back(*value);
  }
  return values;
}

std::int64_t parse_integer(const std::string& text, const std::string& option, std::int64_t most) {
  const auto value = parse_number(text);
  if (!value || *value > most) {
    throw UsageError(fmt::format("{}: {} is no whole number from 1 to {}", option,
                                 text.empty() ? "an empty text" : in_quotes(text), most));
  }
  return *value;
}

double parse_share(const std::string& text, const std::string& option) {
  double value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc() || std::string_view(end, last) != "%" || !(value > 0) || value > 100) {
    throw UsageError(fmt::format(
        "{}: '{}' is no percentage from above 0 to 100, for example {} 98%", option, text, option));
  }
  return value / 100;
}

}  // namespace autotune
