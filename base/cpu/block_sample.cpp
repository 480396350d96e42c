#include "cpu/block_sample.hpp"

#include <algorithm>
#include <initializer_list>
#include <numeric>
#include <random>
#include <set>

namespace autotune {
namespace {

// The most multiply-adds of a launch that are run; a core does some 10^9 of them in a second.
constexpr double kEnoughWork = 1 << 24;
constexpr std::int64_t kFewestBlocks = 4;  // the corners

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace

Rectangle TileGrid::tile(std::int64_t number, const TensorDesc& output) const {
  const std::int64_t each = ceil_div(output.rows, tile_rows);
  const std::int64_t in_matrix = number / tiles_n % each * tile_rows;
  const std::int64_t row = number / tiles_n / each * output.rows + in_matrix;
  const std::int64_t column = number % tiles_n * tile_columns;
  return {row, column, std::min(tile_rows, output.rows - in_matrix),
          std::min(tile_columns, output.columns - column)};
}

std::vector<std::int64_t> TileGrid::overlapping(const Rectangle& part,
                                                const TensorDesc& output) const {
  const std::int64_t of_matrix = part.row / output.rows * ceil_div(output.rows, tile_rows);
  const std::int64_t first_row = part.row % output.rows;
  std::vector<std::int64_t> numbers;
  for (std::int64_t m = first_row / tile_rows; m * tile_rows < first_row + part.rows; ++m) {
    for (std::int64_t n = part.column / tile_columns; n * tile_columns < part.column + part.columns;
         ++n) {
      numbers.push_back((of_matrix + m) * tiles_n + n);
    }
  }
  return numbers;
}

std::optional<TileGrid> tile_grid(
    const TensorDesc& output, std::int64_t blocks,
    const std::function<bool(std::int64_t row, std::int64_t column)>& written) {
  TileGrid grid{0, 0, 0, 0};
  while (grid.tile_rows < output.rows && written(grid.tile_rows, 0)) ++grid.tile_rows;
  while (grid.tile_columns < output.columns && written(0, grid.tile_columns)) ++grid.tile_columns;
  if (grid.tile_rows == 0 || grid.tile_columns == 0) return std::nullopt;
  grid.tiles_m = output.matrices * ceil_div(output.rows, grid.tile_rows);
  grid.tiles_n = ceil_div(output.columns, grid.tile_columns);
  if (grid.tiles_m * grid.tiles_n != blocks) return std::nullopt;
  return grid;
}

std::vector<std::int64_t> sample_blocks(const Work& work, std::int64_t blocks,
                                        const std::optional<TileGrid>& grid) {
  // A step is a multiply-add or the copy of an FP64 number.
  const double steps = std::max({work.operations / 2, work.bytes / 16, 1.0});
  const double a_block = steps / static_cast<double>(blocks);
  const std::int64_t affordable =
      std::max(kFewestBlocks, static_cast<std::int64_t>(kEnoughWork / a_block));
  if (!grid || affordable >= blocks) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(blocks));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  const std::int64_t last_row = blocks - grid->tiles_n;
  const std::int64_t last_column = grid->tiles_n - 1;
  const std::int64_t middle_row = grid->tiles_m / 2 * grid->tiles_n;
  const std::int64_t middle_column = grid->tiles_n / 2;
  std::set<std::int64_t> sample = {0, last_column, last_row, blocks - 1};
  const auto is_full = [&] { return static_cast<std::int64_t>(sample.size()) >= affordable; };
  for (const std::int64_t edge :
       {middle_row + last_column, last_row + middle_column, middle_row, middle_column}) {
    if (!is_full()) sample.insert(edge);
  }
  std::mt19937_64 random(1);
  while (!is_full()) {
    sample.insert(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(blocks)));
  }
  return {sample.begin(), sample.end()};
}

std::vector<Rectangle> written_tiles(const PoisonedTensor& result, const TileGrid& grid) {
  std::vector<Rectangle> tiles;
  for (std::int64_t number = 0; number < grid.tiles_m * grid.tiles_n; ++number) {
    const Rectangle tile = grid.tile(number, result.description());
    for (std::int64_t row = tile.row; row < tile.row + tile.rows; ++row) {
      if (!result.any_written(row, tile.column, tile.columns)) continue;
      tiles.push_back(tile);
      break;
    }
  }
  return tiles;
}

}  // namespace autotune
