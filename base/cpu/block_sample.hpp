// Chooses the blocks of a large launch that are run, and finds the part of the result that they
// compute.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cpu/tensors.hpp"
#include "operation/operation.hpp"

namespace autotune {

// The result, each of its matrices divided into equal tiles from its first element on; the last
// tiles may extend beyond it. tiles_m counts those of all matrices.
struct TileGrid {
  std::int64_t tile_rows, tile_columns, tiles_m, tiles_n;

  [[nodiscard]] Rectangle tile(std::int64_t number, const PoisonedTensor& output) const;
};

// Returns the tiles into which a launch divides the result if each block computes one, derived from
// the elements that block 0, run alone, has written; nullopt if the blocks divide it in another
// way.
[[nodiscard]] std::optional<TileGrid> tile_grid(const PoisonedTensor& result, std::int64_t blocks);

// Returns the blocks to run of a launch that does this work, in increasing order: all `blocks`, or
// a sample if all are too much work. The sample is always the same. It has the blocks at the
// corners and some at the edges of the result (if blocks are numbered row by row), and some random
// ones. Without a grid the part of the result that a block computes is unknown, so all are run.
[[nodiscard]] std::vector<std::int64_t> sample_blocks(const Work& work, std::int64_t blocks,
                                                      const std::optional<TileGrid>& grid);

// The tiles of which at least one element was written.
[[nodiscard]] std::vector<Rectangle> written_tiles(const PoisonedTensor& result,
                                                   const TileGrid& grid);

}  // namespace autotune
