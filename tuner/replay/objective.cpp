#include "tuner/replay/objective.hpp"

#include <cmath>
#include <map>
#include <regex>

namespace autotune {
namespace {

// "miliseconds" is how Kernel Tuner spells it.
double microseconds_in(const std::string& unit) {
  static const std::map<std::string, double> units = {
      {"s", 1e6},   {"seconds", 1e6},     {"ms", 1e3},    {"milliseconds", 1e3},
      {"us", 1},    {"microseconds", 1},  {"\u00b5s", 1}, {"miliseconds", 1e3},
      {"ns", 1e-3}, {"nanoseconds", 1e-3}};
  const auto found = units.find(unit);
  return found == units.end() ? 1 : found->second;
}

// GB/s; GFLOP/s, GFLOPS, GFLOPS/W, GFLOP/J, and so on in any case.
bool is_rate(const std::string& text) {
  static const std::regex of_operations("[kmgtp]?flops?(/.*)?", std::regex::icase);
  return text.find("/s") != std::string::npos || std::regex_match(text, of_operations);
}

}  // namespace

std::optional<double> objective_cost(const std::string& name, double value,
                                     const std::string& unit) {
  constexpr double kFailed = 1e20;  // how Kernel Tuner once marked what did not run
  if (!std::isfinite(value) || value <= 0 || value >= kFailed) return std::nullopt;
  return is_rate(name) || is_rate(unit) ? 1 / value : value * microseconds_in(unit);
}

}  // namespace autotune
