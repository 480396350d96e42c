#include "kernel_templates/register_tile.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace autotune {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 15> kMeanings = {{
    {"RESULTS_M", "results of one lane along M"},
    {"RESULTS_N", "results of one lane along N"},
    {"LANES_M", "lanes of a warp along M; the others are along N"},
    {"WARPS_M", "warps of a block along M"},
    {"WARPS_N", "warps of a block along N"},
    {"SLICE_K", "parts of each k_tile that different warps multiply"},
    {"BLOCK_K", "elements of K in a k_tile"},
    {"UNROLL", "unroll factor of the inner loop"},
    {"STAGES", "buffers for k_tiles in shared memory"},
    {"MIN_BLOCKS", "blocks of an SM at a time, as __launch_bounds__ has them"},
    {"SPLIT_K", "blocks that split K of one tile; 0: stream-K, all share the last tiles"},
    {"CLUSTER", "blocks of a cluster, which add up the sums of SPLIT_K"},
    {"ORDER",
     "order of the FMAs for one k: 0 by rows, 1 by columns, 2 to 5 in groups of 4 or 2 of them"},
    {"REGISTER_LEVEL", "ptxas --register-usage-level; others give the code of one of these"},
    {"RASTER", "tiles along M that run side by side and share B in the L2 cache"},
}};

}  // namespace

std::int64_t RegisterTile::buffer_bytes(std::int64_t stage) const {
  const std::int64_t exchanged = slices() > 1 ? threads() * results() / 2 : 0;
  return kElementBytes * std::max(stages() * stage, exchanged) +
         cluster_bytes(cluster(), threads() * results() / slices());
}

TuningParameter tile_parameter(std::string_view name, std::vector<std::int64_t> values) {
  const auto* const found = std::find_if(kMeanings.begin(), kMeanings.end(),
                                         [&](const auto& one) { return one.first == name; });
  return {std::string(name), std::string(found->second), std::move(values)};
}

ParameterNames thread_tile_names() {
  return {"RESULTS_M", "RESULTS_N"};
}
ParameterNames warp_tile_names() {
  return thread_tile_names() + ParameterNames{"LANES_M"};
}
ParameterNames block_tile_names() {
  return warp_tile_names() + ParameterNames{"WARPS_M", "WARPS_N"};
}

Constraint warp_tile_constraint() {
  return constraint_on<RegisterTile>(
      "warp_tile", "a warp's tile is at most twice as long as wide", warp_tile_names(),
      [](const RegisterTile& tile) { return balanced(tile.warp_m(), tile.warp_n(), 2); });
}

LaunchGeometry register_tile_geometry(const RegisterTile& tile, const GemmProblem& problem) {
  const std::int64_t tile_m = tile.tile_m();
  const std::int64_t tile_n = tile.tile_n();
  const std::int64_t cluster = tile.cluster();
  const std::int64_t split_k = tile.split_k();
  const std::int64_t tiles_m = ceil_div(problem.m, tile_m);
  const std::int64_t tiles_each = tiles_m * ceil_div(problem.n, tile_n);
  const std::int64_t k_tiles = ceil_div(problem.k, tile.block_k());
  // The clusters that share a tile, where blocks do not share evenly.
  const std::int64_t clusters = std::max<std::int64_t>(1, std::min(split_k, k_tiles) / cluster);
  const std::int64_t blocks = tiles_each * clusters * cluster;  // of a product
  // Two parts of tiles for each block.
  const std::int64_t bytes = 2 * size_bytes(problem.types.accumulate) * tile_m * tile_n;
  const bool evenly = split_k == kEvenly;
  // Blocks share the tiles of all products, unless these are more than they count.
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const bool fits = problem.batch == 1 || tiles_each <= kMost / problem.batch;
  const bool shared = evenly ? fits && may_share_evenly(k_tiles)
                             : clusters > 1 && may_share(blocks, problem.batch, bytes);
  LaunchGeometry result;
  result.waits_for_launch_before = true;
  result.raster = std::min(tile.c.at("RASTER"), tiles_m);
  result.spread(shared ? blocks : tiles_each * cluster, problem.batch);
  if (shared && evenly) {
    // No device runs more blocks at once; of the largest sizes the product has more than 64 bits.
    const std::int64_t tiles = tiles_each * problem.batch;
    result.grid[0] = tiles > kMost / k_tiles ? kMost : tiles * k_tiles;
    result.resident_blocks_per_sm = tile.min_blocks();
  }
  result.blocks_per_cluster = cluster;
  result.block[0] = tile.threads();
  if (shared) result.workspace_bytes_per_block = bytes;
  return result;
}

TileShape register_tile_shape(const Configuration& configuration) {
  const RegisterTile tile(configuration);
  return {.tile_width = 0,
          .results_m = tile.results_m(),
          .results_n = tile.results_n(),
          .unroll = tile.block_k(),
          .block_m = tile.tile_m(),
          .block_n = tile.tile_n(),
          .block_k = tile.block_k()};
}

}  // namespace autotune
