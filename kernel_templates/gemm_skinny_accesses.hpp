// The addresses that the warps of gemm_skinny.cu use, for KernelTemplate::warp_accesses.
#pragma once

#include <cstdint>
#include <vector>

#include "autotune/configuration.hpp"
#include "autotune/problem.hpp"

#include "kernel_templates/access_pattern.hpp"

namespace autotune {

// Returns the accesses of one warp of the first block, with operands aligned to 16 bytes: its first
// batch of the large operand, its copies of the few rows, its reads of them for a batch, its stores
// of C.
[[nodiscard]] std::vector<WarpAccess> gemm_skinny_accesses(const Configuration& configuration,
                                                           const GemmProblem& problem,
                                                           std::int64_t warp);

}  // namespace autotune
