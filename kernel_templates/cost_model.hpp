// Predicts by arithmetic how long a tiled GEMM kernel takes. The predictions decide which
// configurations are tried first; they are not used as times.
#pragma once

#include <cstdint>
#include <functional>

#include "core/occupancy.hpp"
#include "kernel_templates/kernel_template.hpp"

namespace autotune {

// KernelTemplate::predicted_cycles.
using CostModel =
    std::function<double(const Configuration&, const Problem&, const SmLimits&, int sm_count)>;

// The input of the model; the fields are those of KernelTemplate.
struct TiledKernel {
  std::function<TileShape(const Configuration&)> tile_shape;
  std::function<LaunchGeometry(const Configuration&, const Problem&)> geometry;
  std::function<std::int64_t(const Configuration&)> shared_bytes;
  std::int64_t copying_threads = 0;
};

// Clock cycles of the busiest SM: rounds of blocks, in each the multiply-adds with the loads that
// feed them, or the waits for the k-tiles if these take longer; at least the time in which the L2
// cache delivers the tiles. The model throws UsageError for a configuration that lacks a parameter.
[[nodiscard]] CostModel gemm_cost_model(TiledKernel kernel);

}  // namespace autotune
