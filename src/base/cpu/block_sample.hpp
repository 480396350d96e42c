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

// How a launch divides the result, when each block computes a tile of its own: seen from what
// block 0, run alone, has written. nullopt when the blocks do not divide it so.
[[nodiscard]] std::optional<TileGrid> tile_grid(const PoisonedTensor& result, std::int64_t blocks);

// All `blocks` of a launch of so many floating-point operations, or fewer where they are too much
// work: those at the corners and the edges of the result, if they are numbered row after row, and
// random ones, always the same. Increasing. Without a grid it cannot be known which part of the
// result a block answers for: all.
[[nodiscard]] std::vector<std::int64_t> sample_blocks(double operations, std::int64_t blocks,
                                                      const std::optional<TileGrid>& grid);

// The tiles that the result has numbers in.
[[nodiscard]] std::vector<Rectangle> written_tiles(const PoisonedTensor& result,
                                                   const TileGrid& grid);

}  // namespace autotune
