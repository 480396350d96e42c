#include "kernel_templates/analysis.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace autotune {

Analysis analyze(const KernelTemplate& kernel, const Configuration& configuration,
                 const SmLimits& sm, std::optional<std::int64_t> registers, const Problem* problem,
                 int sm_count) {
  const Problem& launched = problem != nullptr ? *problem : kernel.limiting_problems.front();
  const TiledLaunch launch = tiled_launch(kernel, configuration, launched, sm_count);
  const TileShape& tile = launch.tile;
  const LaunchGeometry& geometry = launch.geometry;
  const std::int64_t taken = launch.shared_bytes;
  const std::int64_t element_bytes = size_bytes(kernel.operation->tensors(launched).front().type);

  Analysis result;
  result.threads = geometry.threads();
  result.loads_per_phase = (tile.block_m + tile.block_n) * tile.block_k;
  result.operations_per_phase = 2 * tile.block_m * tile.block_n * tile.block_k;
  result.operations_per_load = static_cast<double>(result.operations_per_phase) /
                               static_cast<double>(result.loads_per_phase);
  // A template may keep only a part of the loaded elements in shared memory.
  result.shared_bytes = std::min(result.loads_per_phase * element_bytes, taken);
  result.reserved_shared_bytes = taken - result.shared_bytes + sm.shared_reserved_per_block;
  result.registers = registers;
  result.occupancy = occupancy(
      {.threads = result.threads, .shared_bytes = taken, .registers_per_thread = registers}, sm);
  if (result.occupancy.blocks_per_sm) {
    result.pending_loads = *result.occupancy.blocks_per_sm * result.loads_per_phase;
  }

  if (problem) result.blocks = geometry.blocks();
  const std::int64_t at_once = result.occupancy.blocks_per_sm.value_or(0) * sm_count;
  if (problem && at_once > 0) {
    result.waves = static_cast<double>(geometry.blocks()) / static_cast<double>(at_once);
    result.wave_efficiency = *result.waves / std::ceil(*result.waves);
  }
  return result;
}

Roofline roofline(const Work& work, double fma_gflops, double copy_gbps) {
  return {work.operations / fma_gflops * 1e-3, work.bytes / copy_gbps * 1e-3};
}

}  // namespace autotune
