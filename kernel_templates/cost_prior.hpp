// The predictions of a template's cost model for a whole space, which searches start from.
#pragma once

#include <vector>

#include "core/prior.hpp"
#include "kernel_templates/kernel_template.hpp"

namespace autotune {

// By KernelTemplate::cost_model, on a device with `sm_count` SMs of these limits; valid as
// long as `kernel` and `configurations`. Empty where the template has no cost model or the device's
// SMs are not known, as for the CPU device.
[[nodiscard]] Prior prior_for(const KernelTemplate& kernel,
                              const std::vector<Configuration>& configurations,
                              const Problem& problem, const SmLimits& sm, int sm_count);

}  // namespace autotune
