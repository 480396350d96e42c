// What gemm_simt's warps do to memory, for KernelTemplate::warp_accesses.
#pragma once

#include <cstdint>
#include <vector>

#include "autotune/configuration.hpp"
#include "autotune/problem.hpp"

#include "kernel_templates/access_pattern.hpp"

namespace autotune {

// Of one warp of the block at C's origin, with operands aligned to 16 bytes: its copies of the
// first phase, each seen from global and from shared memory; what it reads in one turn of the inner
// loop; its stores of C.
[[nodiscard]] std::vector<WarpAccess> gemm_simt_accesses(const Configuration& configuration,
                                                         const GemmProblem& problem,
                                                         std::int64_t warp);

}  // namespace autotune
