#include "tuner/replay/parameter_values.hpp"

#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>

namespace autotune {
namespace {

// KTT writes numbers as texts, and the keys of Kernel Tuner's caches are texts of Python.
std::optional<double> as_number(const OrderedJson& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  if (text == "True" || text == "False") return text == "True" ? 1 : 0;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

bool is_whole(double number) {
  constexpr double kMost = 9007199254740992;  // 2^53: a double has every whole number up to it
  return number == std::trunc(number) && std::abs(number) <= kMost;
}

}  // namespace

void ParameterValues::add(const OrderedJson& value) {
  if (const std::optional<double> number = as_number(value)) {
    numbers_.insert(*number);
    all_whole_ = all_whole_ && is_whole(*number);
  } else {
    texts_.try_emplace(value.dump(), static_cast<std::int64_t>(texts_.size()));
    all_whole_ = false;
  }
}

std::int64_t ParameterValues::number(const OrderedJson& value) const {
  const std::optional<double> number = as_number(value);
  if (!number) return static_cast<std::int64_t>(numbers_.size()) + texts_.at(value.dump());
  if (all_whole_) return static_cast<std::int64_t>(*number);
  return std::distance(numbers_.begin(), numbers_.find(*number));
}

}  // namespace autotune
