// The estimate of a space's times before any configuration is measured.
#pragma once

#include <cstddef>
#include <functional>

namespace autotune {

// The predicted time of a configuration, by its index, in any unit.
using Prior = std::function<double(std::size_t)>;

}  // namespace autotune
