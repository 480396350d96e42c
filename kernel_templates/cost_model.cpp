#include "kernel_templates/cost_model.hpp"

#include <algorithm>

#include "kernel_templates/template_support.hpp"
#include "operation/gemm/gemm.hpp"

namespace autotune {
namespace {

constexpr std::int64_t kWarp = 32;
constexpr double kFmasPerCycle = 128;  // of an SM

// The costs that agree best with trials of three templates on an H200 (docs/search.md), in
// multiply-adds.
constexpr double kReadCost = 2;         // of 4 elements from shared memory
constexpr double kCopyCost = 7;         // of an element to shared memory
constexpr double kSideCopyCost = 2;     // of one by threads that do nothing else: not fitted
constexpr double kStoreCost = 10;       // of a result
constexpr double kShareCost = 200;      // of a result that blocks add up
constexpr double kIdleWarps = 0.2;      // that an SM lacks to be busy all the time
constexpr double kPhaseCycles = 450;    // at least, of a block's phase
constexpr double kBytesPerCycle = 30;   // that an SM gets from the L2 cache
constexpr double kRoundCycles = 8'000;  // to fill a round of blocks and to drain it

// The work of one configuration on one problem.
struct TileWork {
  const TiledLaunch& launch;
  double copy_cost = kCopyCost;
  std::int64_t threads = 0;   // of a block, that multiply
  std::int64_t resident = 1;  // blocks that an SM has room for
  double tiles = 0;           // of C
  double block_k = 0;         // of K that a block takes, on average

  [[nodiscard]] double block_results() const {
    return static_cast<double>(launch.tile.block_m * launch.tile.block_n);
  }
};

// Results, fragments of both operands, addresses.
std::int64_t estimated_registers(const TileShape& tile) {
  return tile.results() + 2 * (tile.results_m + tile.results_n) + 24;
}

TileWork work_of(const TiledLaunch& launch, const GemmProblem& problem, const SmLimits& sm) {
  TileWork work{.launch = launch};
  const TileShape& tile = launch.tile;
  const std::int64_t threads = launch.geometry.threads();
  work.threads = threads - launch.copying_threads;
  if (launch.copying_threads > 0) work.copy_cost = kSideCopyCost;
  const BlockResources block{
      .threads = threads,
      .shared_bytes = launch.shared_bytes,
      .registers_per_thread = estimated_registers(tile) * work.threads / threads};
  work.resident = std::max<std::int64_t>(1, occupancy(block, sm).blocks_per_sm.value_or(1));
  work.tiles = static_cast<double>(ceil_div(problem.m, tile.block_m)) *
               static_cast<double>(ceil_div(problem.n, tile.block_n)) *
               static_cast<double>(problem.batch);
  work.block_k =
      static_cast<double>(problem.k) * work.tiles / static_cast<double>(launch.geometry.blocks());
  return work;
}

// The cost of a multiply-add with the loads and copies that feed it, in multiply-adds.
double fma_cost(const TileWork& work) {
  const TileShape& tile = work.launch.tile;
  const double reads = static_cast<double>(tile.results_m + tile.results_n) / 4;
  const bool copies_a = !work.launch.geometry.needs_map(kGemmA);
  const bool copies_b = !work.launch.geometry.needs_map(kGemmB);
  const double copies = (copies_a ? static_cast<double>(tile.block_m) : 0) +
                        (copies_b ? static_cast<double>(tile.block_n) / 4 : 0);
  return 1 + kReadCost * reads / static_cast<double>(tile.results()) +
         work.copy_cost * copies / static_cast<double>(tile.block_m * tile.block_n);
}

// A round in which an SM has this many blocks.
double round_cycles(const TileWork& work, std::int64_t blocks) {
  const auto count = static_cast<double>(blocks);
  const double warps = count * static_cast<double>(ceil_div(work.threads, kWarp));
  const double fmas = count * work.block_results() * work.block_k;
  const double busy = fmas / kFmasPerCycle * fma_cost(work) * (1 + kIdleWarps / warps);
  const double waits = work.block_k / static_cast<double>(work.launch.tile.block_k) * kPhaseCycles;
  const bool is_shared = work.launch.geometry.workspace_bytes_per_block > 0;
  const double end_cost = kStoreCost + (is_shared ? kShareCost : 0);
  return std::max(busy, waits) + count * work.block_results() * end_cost / kFmasPerCycle +
         kRoundCycles;
}

}  // namespace

double ffma_cycles(const TiledLaunch& launch, const GemmProblem& problem, const SmLimits& sm,
                   int sm_count) {
  const TileWork work = work_of(launch, problem, sm);
  const std::int64_t at_once = work.resident * sm_count;
  const std::int64_t full_rounds = launch.geometry.blocks() / at_once;
  const std::int64_t rest = launch.geometry.blocks() % at_once;
  double cycles = static_cast<double>(full_rounds) * round_cycles(work, work.resident);
  if (rest > 0) cycles += round_cycles(work, ceil_div(rest, sm_count));
  const std::int64_t line_bytes = size_bytes(problem.types.a) * launch.tile.block_m +
                                  size_bytes(problem.types.b) * launch.tile.block_n;
  const double bytes =
      static_cast<double>(line_bytes) * static_cast<double>(problem.k) * work.tiles;
  return std::max(cycles, bytes / sm_count / kBytesPerCycle);
}

}  // namespace autotune
