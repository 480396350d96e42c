// What gemm_skinny's warps do to memory, for KernelTemplate::warp_accesses.
#pragma once

#include <cstdint>
#include <vector>

#include "autotune/configuration.hpp"
#include "autotune/problem.hpp"

#include "kernel_templates/access_pattern.hpp"

namespace autotune {

// Of one warp of the first block, with operands aligned to 16 bytes: its first batch of the large
// operand, its copies of the few lines, what it reads of them for a batch, its stores of C.
[[nodiscard]] std::vector<WarpAccess> gemm_skinny_accesses(const Configuration& configuration,
                                                           const GemmProblem& problem,
                                                           std::int64_t warp);

}  // namespace autotune
