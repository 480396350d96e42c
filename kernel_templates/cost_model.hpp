// How long a tiled GEMM kernel should take, by arithmetic alone. It tells what is worth trying
// first and does not forecast times: for that only trials count.
#pragma once

#include <cstdint>
#include <functional>

#include "core/occupancy.hpp"
#include "kernel_templates/kernel_template.hpp"

namespace autotune {

// KernelTemplate::predicted_cycles.
using CostModel =
    std::function<double(const Configuration&, const Problem&, const SmLimits&, int sm_count)>;

// What the model looks at; the fields are KernelTemplate's.
struct TiledKernel {
  std::function<TileShape(const Configuration&)> tile_shape;
  std::function<LaunchGeometry(const Configuration&, const Problem&)> geometry;
  std::function<std::int64_t(const Configuration&)> shared_bytes;
  std::int64_t copying_threads = 0;
};

// Clock cycles of the busiest SM: rounds of blocks, in each the multiply-adds and what feeds them,
// or where that takes longer the waits of the k-tiles; at least the time that the tiles take to
// come from the L2 cache. The model throws UsageError for a configuration that lacks a parameter.
[[nodiscard]] CostModel gemm_cost_model(TiledKernel kernel);

}  // namespace autotune
