// The objective of a recorded result, as a cost to be minimised.
#pragma once

#include <optional>
#include <string>

namespace autotune {

// The cost of a score of 0 or less: the configuration works, and is worth nothing beside the best.
constexpr double kWorthless = 1e12;

// A time is given in microseconds; a rate ("GFLOP/s") and a score, which are to be large, as their
// inverse; and any other value unchanged. `unit` may be empty. nullopt when no configuration that
// ran can have this value: it is not finite, or it is no score and is not positive.
[[nodiscard]] std::optional<double> objective_cost(const std::string& name, double value,
                                                   const std::string& unit);

}  // namespace autotune
