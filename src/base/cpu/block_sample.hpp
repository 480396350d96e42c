// Which blocks of a large launch are run, and which part of the result they account for.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cpu/tensors.hpp"
#include "operation/operation.hpp"

namespace autotune {

// The result cut into equal tiles from its first element on; the last ones may reach over its end.
struct TileGrid {
  std::int64_t tile_rows, tile_columns, tiles_m, tiles_n;

  [[nodiscard]] Rectangle tile(std::int64_t number, const PoisonedTensor& output) const;
};

// The tiles into which a launch divides the result if each block computes one, derived from the
// elements that block 0, run alone, has written. nullopt if the blocks divide the result otherwise.
[[nodiscard]] std::optional<TileGrid> tile_grid(const PoisonedTensor& result, std::int64_t blocks);

// The blocks to run of a launch that does this work, in increasing order: all `blocks`, or a sample
// if they are too much work. The sample consists of the blocks at the corners and some at the edges
// of the result (if blocks are numbered row by row), and of some random ones, always the same.
// Without a grid the part of the result that a block computes is unknown, so all are run.
[[nodiscard]] std::vector<std::int64_t> sample_blocks(const Work& work, std::int64_t blocks,
                                                      const std::optional<TileGrid>& grid);

// The tiles of which at least one element was written.
[[nodiscard]] std::vector<Rectangle> written_tiles(const PoisonedTensor& result,
                                                   const TileGrid& grid);

}  // namespace autotune
