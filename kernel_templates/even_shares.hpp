// The launch of kernels whose blocks divide the k_tiles of all tiles evenly or take tiles in turn
// (device/even_shares.cuh).
#pragma once

#include <cstdint>
#include <limits>

#include "kernel_templates/template_support.hpp"

namespace autotune {

struct EvenShares {
  std::int64_t tiles = 0;     // of clusters
  std::int64_t k_tiles = 0;   // of each
  std::int64_t split_k = 0;   // clusters that share a tile; 0: as many as run at once take turns
  std::int64_t cluster = 1;   // blocks
  std::int64_t resident = 1;  // blocks of an SM
  std::int64_t block_results = 0;
  ElementType sums = ElementType::f32;

  // Sets the grid, the blocks that run at once, and the workspace for parts of tiles.
  void apply_to(LaunchGeometry& geometry) const {
    const std::int64_t part_bytes = 2 * size_bytes(sums) * block_results;
    // Kernels count the k_tiles of all tiles in 32 bits where clusters do not take tiles in turn.
    const bool takes_turns = split_k == 0 || tiles >= (std::int64_t{1} << 32) / k_tiles;
    const std::int64_t most = takes_turns ? k_tiles : std::min(split_k, k_tiles);
    const bool may_split = takes_turns || may_share(tiles * most * cluster, 1, part_bytes);
    const std::int64_t split = may_split ? most : 1;
    // No device runs more clusters at once; of the largest sizes the product has more than 64 bits.
    const std::int64_t limit = std::numeric_limits<std::int32_t>::max() / cluster;
    geometry.grid[0] = (takes_turns && tiles > limit / split ? limit : tiles * split) * cluster;
    if (takes_turns) geometry.resident_blocks_per_sm = resident;
    geometry.blocks_per_cluster = cluster;
    if (split > 1) geometry.workspace_bytes_per_block = part_bytes;
  }
};

}  // namespace autotune
