// What strategies are told of a space before the first trial.
#pragma once

#include <string>
#include <vector>

#include "kernel_templates/kernel_template.hpp"
#include "tuner/strategy.hpp"

namespace autotune {

// By estimated_cycles(); valid as long as `kernel` and `configurations`. Empty where the device's
// SMs are not known, as of the host device.
[[nodiscard]] Estimate estimate_for(const KernelTemplate& kernel,
                                    const std::vector<Configuration>& configurations,
                                    const GemmProblem& problem, const std::string& silicon_class);

}  // namespace autotune
