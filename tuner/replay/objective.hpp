// The objective of a recorded result, as a cost to be minimised.
#pragma once

#include <optional>
#include <string>

namespace autotune {

// A time is given in microseconds, a rate ("GFLOP/s") as its inverse, and any other value
// unchanged. `unit` may be empty. nullopt when no configuration that ran can have this value.
[[nodiscard]] std::optional<double> objective_cost(const std::string& name, double value,
                                                   const std::string& unit);

}  // namespace autotune
