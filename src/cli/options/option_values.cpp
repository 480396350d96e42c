#include "cli/options/option_values.hpp"

#include <charconv>
#include <cmath>
#include <utility>

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

}  // namespace autotune
