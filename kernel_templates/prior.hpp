// The predictions of a template's cost model for a whole space, which searches start from.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "kernel_templates/kernel_template.hpp"

namespace autotune {

// The predicted time of a configuration, by its index, in any unit.
using Prior = std::function<double(std::size_t)>;

// By KernelTemplate::predicted_cycles; valid as long as `kernel` and `configurations`. Empty where
// the template has no cost model or the device's SMs are not known, as for the CPU device.
[[nodiscard]] Prior prior_for(const KernelTemplate& kernel,
                              const std::vector<Configuration>& configurations,
                              const Problem& problem, const std::string& device_class);

}  // namespace autotune
