// The check of times against the maximum rates of a device.
#pragma once

#include <optional>

#include "core/possible_time.hpp"
#include "kernel_templates/kernel_set.hpp"

namespace autotune {

// Returns false for a time below kLeast_us, and for one in which the device would have computed
// many times as fast as its multiply-adds are.
[[nodiscard]] bool is_possible_us(const KernelTemplate& kernel, const Problem& problem, double us,
                                  const std::optional<DeviceRates>& rates);

// The same by the template's name. Where it is not in `kernels`, which outlive the result, the
// rates say nothing.
[[nodiscard]] PossibleTime possible_time(const KernelSet& kernels);

}  // namespace autotune
