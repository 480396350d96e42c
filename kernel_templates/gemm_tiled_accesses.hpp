// The addresses that the warps of gemm_tiled.cu use.
#pragma once

#include <cstdint>
#include <vector>

#include "autotune/configuration.hpp"
#include "autotune/problem.hpp"

#include "kernel_templates/access_pattern.hpp"

namespace autotune {

// Returns the accesses that KernelTemplate::warp_accesses describes.
[[nodiscard]] std::vector<WarpAccess> gemm_tiled_accesses(const Configuration& configuration,
                                                          const GemmProblem& problem,
                                                          std::int64_t warp);

}  // namespace autotune
