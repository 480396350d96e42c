// What a recorded result is judged by, as a number that is to be small.
#pragma once

#include <optional>
#include <string>

namespace autotune {

// A time in microseconds; of a rate ("GFLOP/s") the inverse; anything else as it is. `unit` may be
// empty. nullopt when no configuration that ran can have this value.
[[nodiscard]] std::optional<double> objective_cost(const std::string& name, double value,
                                                   const std::string& unit);

}  // namespace autotune
