#include "tuner/replay/parameter_values.hpp"

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

namespace autotune {
namespace {

static_assert(std::numeric_limits<long double>::digits >= 64);  // so it has all integers of 64 bits

// nullopt for what is no number, and for an integer of more than 64 bits, which is taken as a text
// so that it stays apart from its neighbours. KTT writes numbers as texts, and the keys of Kernel
// Tuner's caches are texts of Python.
std::optional<long double> number_in(const std::string& text) {
  if (text == "True" || text == "False") return text == "True" ? 1 : 0;
  const char* const last = text.data() + text.size();
  const auto parsed = [&](auto number) -> std::optional<long double> {
    const auto [end, error] = std::from_chars(text.data(), last, number);
    if (error != std::errc() || end != last) return std::nullopt;
    return static_cast<long double>(number);
  };
  if (const auto number = parsed(std::int64_t{0})) return number;
  if (const auto number = parsed(std::uint64_t{0})) return number;
  if (text.find_first_not_of("-0123456789") == std::string::npos) return std::nullopt;
  const auto number = parsed(0.0);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

std::optional<long double> as_number(const OrderedJson& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  return value.is_string() ? number_in(value.get_ref<const std::string&>()) : std::nullopt;
}

bool is_small_whole(long double number) {
  constexpr long double kMost = 9007199254740992;  // 2^53: strategies calculate with doubles
  return number == std::trunc(number) && std::abs(number) <= kMost;
}

}  // namespace

std::uint32_t ParameterValues::add(const OrderedJson& value) {
  const auto next = static_cast<std::uint32_t>(numbers_.size() + texts_.size());
  if (const std::optional<long double> number = as_number(value)) {
    all_small_ = all_small_ && is_small_whole(*number);
    return numbers_.try_emplace(*number, next).first->second;
  }
  all_small_ = false;
  return texts_.try_emplace(value.dump(), next).first->second;
}

std::vector<std::int64_t> ParameterValues::numbers() const {
  std::vector<std::int64_t> result(numbers_.size() + texts_.size());
  std::int64_t rank = 0;
  for (const auto& [number, place] : numbers_) {
    result[place] = all_small_ ? static_cast<std::int64_t>(number) : rank++;
  }
  for (const auto& [place, text] : texts_in_order()) result[place] = rank++;
  return result;
}

std::vector<std::string> ParameterValues::ranked() const {
  std::vector<std::string> result;
  if (all_small_) return result;
  for (const auto& [number, place] : numbers_) result.push_back(fmt::format("{}", number));
  for (const auto& [place, text] : texts_in_order()) result.push_back(text);
  return result;
}

std::map<std::uint32_t, std::string> ParameterValues::texts_in_order() const {
  std::map<std::uint32_t, std::string> result;
  for (const auto& [text, place] : texts_) result.emplace(place, text);
  return result;
}

}  // namespace autotune
