// How the warps of a kernel use memory, without a GPU: the CPU device runs one block.
#pragma once

#include <vector>

#include "cpu/access_pattern.hpp"
#include "kernel_templates/kernel_template.hpp"

namespace autotune {

// The average accesses of a warp of the block at the output's origin, in its first k-tiles. Throws
// EnvironmentError without a C++ compiler, and Error for a kernel that the CPU device cannot run.
[[nodiscard]] std::vector<AccessSummary> access_figures(const KernelTemplate& kernel,
                                                        const Configuration& configuration,
                                                        const Problem& problem);

}  // namespace autotune
