// Chooses the blocks of a large launch that are run, and finds the part of the result that they
// compute.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "cpu/tensors.hpp"
#include "operation/operation.hpp"

namespace autotune {

// A rectangle of an output's rows and columns. The rows of a batch are counted through all of its
// matrices.
struct Rectangle {
  std::int64_t row = 0;
  std::int64_t column = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;

  bool operator==(const Rectangle&) const = default;
};

// The result, each of its matrices divided into equal tiles from its first element on; the last
// tiles may extend beyond it. tiles_m counts those of all matrices.
struct TileGrid {
  std::int64_t tile_rows, tile_columns, tiles_m, tiles_n;

  [[nodiscard]] Rectangle tile(std::int64_t number, const TensorDesc& output) const;
  // The numbers of the tiles that overlap a part of the result that lies within one matrix.
  [[nodiscard]] std::vector<std::int64_t> overlapping(const Rectangle& part,
                                                      const TensorDesc& output) const;
};

// Returns the tiles into which a launch divides an output if each block computes one, derived from
// the elements that block 0, run alone, has written: `written` is asked about some of the first row
// and the first column. Returns nullopt if the blocks divide it in another way.
[[nodiscard]] std::optional<TileGrid> tile_grid(
    const TensorDesc& output, std::int64_t blocks,
    const std::function<bool(std::int64_t row, std::int64_t column)>& written);

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
