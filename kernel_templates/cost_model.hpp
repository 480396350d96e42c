// Predicts by arithmetic how long a tiled GEMM kernel that multiplies with FFMA takes. The
// predictions decide which configurations are tried first; they are not used as times.
#pragma once

#include "autotune/problem.hpp"

#include "core/occupancy.hpp"
#include "kernel_templates/kernel_template.hpp"

namespace autotune {

// Clock cycles of the busiest SM: rounds of blocks, in each the multiply-adds with the loads that
// feed them, or the waits for the k-tiles if these take longer; at least the time in which the L2
// cache delivers the tiles.
[[nodiscard]] double ffma_cycles(const TiledLaunch& launch, const GemmProblem& problem,
                                 const SmLimits& sm, int sm_count);

}  // namespace autotune
