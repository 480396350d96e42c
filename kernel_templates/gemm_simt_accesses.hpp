// The addresses that the warps of gemm_simt.cu use, for KernelTemplate::warp_accesses.
#pragma once

#include <cstdint>
#include <vector>

#include "autotune/configuration.hpp"
#include "autotune/problem.hpp"

#include "kernel_templates/access_pattern.hpp"

namespace autotune {

// Returns the accesses of one warp of the block at C's origin, with operands aligned to 16 bytes:
// its copies of the first k_tile, each seen from global and from shared memory; its reads in one
// turn of the inner loop; its stores of C.
[[nodiscard]] std::vector<WarpAccess> gemm_simt_accesses(const Configuration& configuration,
                                                         const GemmProblem& problem,
                                                         std::int64_t warp);

}  // namespace autotune
