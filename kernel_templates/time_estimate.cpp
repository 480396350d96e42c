#include "kernel_templates/time_estimate.hpp"

#include <algorithm>

#include "kernel_templates/rules.hpp"

namespace autotune {
namespace {

constexpr std::int64_t kWarp = 32;
constexpr double kFmasPerCycle = 128;  // of an SM

// What agrees best with trials of three templates on an H200 (docs/search.md). Costs are in
// multiply-adds.
constexpr double kReadCost = 2;         // of 4 elements from shared memory
constexpr double kCopyCost = 7;         // of an element to shared memory
constexpr double kStoreCost = 10;       // of a result
constexpr double kShareCost = 200;      // of a result that blocks add up
constexpr double kIdleWarps = 0.2;      // that an SM lacks to be busy all the time
constexpr double kPhaseCycles = 450;    // at least, of a block's phase
constexpr double kBytesPerCycle = 30;   // that an SM gets from the L2 cache
constexpr double kRoundCycles = 8'000;  // to fill a round of blocks and to drain it

// Results, fragments of both operands, addresses.
std::int64_t estimated_registers(const TileShape& tile) {
  return tile.results() + 2 * (tile.results_m + tile.results_n) + 24;
}

}  // namespace

double estimated_cycles(const KernelTemplate& kernel, const Configuration& configuration,
                        const GemmProblem& problem, const SmLimits& sm, int sm_count) {
  const TileShape tile = kernel.tile_shape(configuration);
  const LaunchGeometry geometry = kernel.geometry(configuration, problem).on_device(sm_count);
  const std::int64_t shared = kernel.shared_bytes(configuration) + geometry.dynamic_shared_bytes;
  const std::int64_t resident =
      std::max<std::int64_t>(1, occupancy({.threads = geometry.threads(),
                                           .shared_bytes = shared,
                                           .registers_per_thread = estimated_registers(tile)},
                                          sm)
                                    .blocks_per_sm.value_or(1));

  const std::int64_t blocks = geometry.blocks();
  const double tiles = static_cast<double>(ceil_div(problem.m, tile.block_m)) *
                       static_cast<double>(ceil_div(problem.n, tile.block_n));
  const double block_k = static_cast<double>(problem.k) * tiles / static_cast<double>(blocks);
  const auto block_results = static_cast<double>(tile.block_m * tile.block_n);
  const double reads = static_cast<double>(tile.results_m + tile.results_n) / 4;
  const double copies = static_cast<double>(tile.block_m) + static_cast<double>(tile.block_n) / 4;
  const double cost = 1 + kReadCost * reads / static_cast<double>(tile.results()) +
                      kCopyCost * copies / block_results;
  const double block_cycles = cost * block_results * block_k / kFmasPerCycle;
  const double phases_cycles = block_k / static_cast<double>(tile.block_k) * kPhaseCycles;
  const bool is_shared = geometry.scratch_bytes_per_block > 0;
  const double end_cycles =
      (kStoreCost + (is_shared ? kShareCost : 0)) * block_results / kFmasPerCycle;

  // A round in which each SM has so many blocks.
  const auto round_cycles = [&](std::int64_t count) {
    const auto warps = static_cast<double>(count * ceil_div(geometry.threads(), kWarp));
    const double busy = static_cast<double>(count) * block_cycles * (1 + kIdleWarps / warps);
    return std::max(busy, phases_cycles) + static_cast<double>(count) * end_cycles + kRoundCycles;
  };
  const std::int64_t at_once = resident * sm_count;
  const std::int64_t rest = blocks % at_once;
  const double cycles = static_cast<double>(blocks / at_once) * round_cycles(resident) +
                        (rest > 0 ? round_cycles(ceil_div(rest, sm_count)) : 0);
  const double bytes = sizeof(float) * static_cast<double>(tile.block_m + tile.block_n) *
                       static_cast<double>(problem.k) * tiles;
  return std::max(cycles, bytes / sm_count / kBytesPerCycle);
}

}  // namespace autotune
