// Times that a kernel can have taken: a damaged file, a worker that obeys somebody else, and
// results that were merged may name others.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/device_info.hpp"
#include "core/problem.hpp"

namespace autotune {

// No launch takes less time, on any device.
inline constexpr double kLeast_us = 1e-3;

// Returns whether a template's kernel can have solved a problem in this time on a device with these
// rates, which may be unknown.
using PossibleTime = std::function<bool(const std::string& template_name, const Problem& problem,
                                        double us, const std::optional<DeviceRates>& rates)>;

}  // namespace autotune
