#include "tuner/replay/objective.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

namespace autotune {
namespace {

std::string in_lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// Kernel Tuner spells "miliseconds" so.
double microseconds_in(const std::string& unit) {
  static const std::map<std::string, double> units = {
      {"s", 1e6},   {"seconds", 1e6},     {"ms", 1e3},    {"milliseconds", 1e3},
      {"us", 1},    {"microseconds", 1},  {"\u00b5s", 1}, {"miliseconds", 1e3},
      {"ns", 1e-3}, {"nanoseconds", 1e-3}};
  const auto found = units.find(in_lower_case(unit));
  return found == units.end() ? 1 : found->second;
}

// Returns whether the text has "/s" or "per_s" for a second: in GB/s and GB/sec, not in us/step.
bool is_per_second(const std::string& text) {
  for (const std::string_view per : {"/s", "per_s"}) {
    for (std::size_t at = text.find(per); at != std::string::npos; at = text.find(per, at + 1)) {
      const std::string_view rest = std::string_view(text).substr(at + per.size());
      const bool has_letter = !rest.empty() && std::isalpha(static_cast<unsigned char>(rest[0]));
      if (!has_letter || rest.starts_with("ec")) return true;
    }
  }
  return false;
}

// True for GB/s, GFLOP/s, GFLOPS, GFLOPS/W, GFLOP/J, throughput and the like. text: in lower case.
bool is_rate(const std::string& text) {
  static const std::set<std::string> names = {"bandwidth", "fps",        "mlups", "performance",
                                              "speedup",   "throughput", "tops"};
  if (is_per_second(text) || names.contains(text)) return true;
  const std::size_t flop = text.find("flop");
  if (flop > 1) return false;  // only a letter such as K, M or G may precede it
  std::string_view rest = std::string_view(text).substr(flop + 4);
  if (rest.starts_with('s')) rest.remove_prefix(1);
  return rest.empty() || rest.front() == '/';
}

}  // namespace

std::optional<double> objective_cost(const std::string& name, double value,
                                     const std::string& unit) {
  constexpr double kFailed =
      1e20;  // Kernel Tuner's former mark of a configuration that did not run
  if (!std::isfinite(value) || value >= kFailed) return std::nullopt;
  // Kernel Tuner maximises these, and no other objective without a rate's name.
  const std::string objective = in_lower_case(name);
  if (objective == "score" || objective == "fitness")
    return value > 1 / kWorthless ? 1 / value : kWorthless;
  if (value <= 0) return std::nullopt;
  return is_rate(objective) || is_rate(in_lower_case(unit)) ? 1 / value
                                                            : value * microseconds_in(unit);
}

}  // namespace autotune
