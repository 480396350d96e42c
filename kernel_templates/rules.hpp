// What the templates' descriptions share.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/config_space.hpp"

namespace autotune {

// a / b, rounded up; both positive.
[[nodiscard]] constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// A constraint whose rule sees the configuration as `Values`, a template's names for its
// parameters. `parameters`: those that the rule looks at.
template <typename Values, typename Rule>
[[nodiscard]] Constraint constraint_on(std::string name, std::string meaning,
                                       std::vector<std::string> parameters, Rule rule) {
  return {std::move(name), std::move(meaning),
          [rule](const Configuration& configuration) { return rule(Values{configuration}); },
          std::move(parameters)};
}

// The same for a rule that may look at all of them.
template <typename Values, typename Rule>
[[nodiscard]] Constraint constraint_on(std::string name, std::string meaning, Rule rule) {
  return constraint_on<Values>(std::move(name), std::move(meaning), {}, rule);
}

}  // namespace autotune
