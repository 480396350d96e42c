// How long a kernel should take, by arithmetic alone. Good for telling what is worth trying first;
// no forecast: for that only trials count.
#pragma once

#include "core/occupancy.hpp"
#include "kernel_templates/kernel_template.hpp"

namespace autotune {

// Clock cycles of the busiest SM on a device with so many of these SMs: rounds of blocks, in each
// the multiply-adds and what feeds them, or where that takes longer the waits of the phases; at
// least the time that the tiles take to come from the L2 cache.
// Throws UsageError for a configuration that lacks a parameter of the template.
[[nodiscard]] double predicted_cycles(const KernelTemplate& kernel,
                                      const Configuration& configuration,
                                      const GemmProblem& problem, const SmLimits& sm, int sm_count);

}  // namespace autotune
