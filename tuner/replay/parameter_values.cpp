#include "tuner/replay/parameter_values.hpp"

#include <cmath>
#include <iterator>
#include <optional>

namespace autotune {
namespace {

std::optional<double> as_number(const OrderedJson& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (value.is_number()) return value.get<double>();
  return std::nullopt;
}

bool is_whole(double number) {
  constexpr double kMost = 9007199254740992;  // 2^53, up to where a double has every whole number
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
