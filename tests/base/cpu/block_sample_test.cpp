#include "cpu/block_sample.hpp"

#include <algorithm>

#include <doctest/doctest.h>

using autotune::PoisonedTensor;
using autotune::Rectangle;
using autotune::TensorDesc;
using autotune::ThreadPool;
using autotune::TileGrid;

namespace {

void write(PoisonedTensor& matrix, const Rectangle& part) {
  auto* const elements = reinterpret_cast<float*>(matrix.data());
  for (std::int64_t row = part.row; row < part.row + part.rows; ++row) {
    std::fill_n(elements + row * matrix.columns() + part.column, part.columns, 1.F);
  }
}

PoisonedTensor poisoned(std::int64_t rows, std::int64_t columns) {
  ThreadPool pool(1);
  PoisonedTensor matrix(TensorDesc{.rows = rows, .columns = columns, .row_stride = columns});
  matrix.poison(pool);
  return matrix;
}

// The grid of what was written.
std::optional<TileGrid> tile_grid(const PoisonedTensor& result, std::int64_t blocks) {
  return autotune::tile_grid(
      result.description(), blocks,
      [&](std::int64_t row, std::int64_t column) { return result.written(row, column); });
}

}  // namespace

TEST_SUITE("block sample") {
  TEST_CASE("the tile of block 0 tells how the result is divided") {
    PoisonedTensor result = poisoned(70, 33);
    write(result, {0, 0, 16, 32});
    const TileGrid grid = tile_grid(result, 10).value();
    CHECK(grid.tile_rows == 16);
    CHECK(grid.tile_columns == 32);
    CHECK(grid.tiles_m == 5);
    CHECK(grid.tiles_n == 2);
    const Rectangle last = grid.tile(9, result.description());
    CHECK(last.row == 64);
    CHECK(last.column == 32);
    CHECK(last.rows == 6);
    CHECK(last.columns == 1);
  }

  TEST_CASE("blocks that do not match the tile give no grid") {
    PoisonedTensor result = poisoned(70, 33);
    CHECK_FALSE(tile_grid(result, 1));  // nothing was written
    write(result, {0, 0, 15, 32});      // the tile's last row is missing
    CHECK_FALSE(tile_grid(result, 9));
    CHECK_FALSE(tile_grid(result, 20));  // as with two blocks a tile
  }

  TEST_CASE("a small problem is run whole and a large one in part") {
    const autotune::Work small{.operations = 2.0 * 256 * 256 * 256};
    const autotune::Work large{.operations = 2.0 * 3200 * 3200 * 3200};
    CHECK(autotune::sample_blocks(small, 16, TileGrid{64, 64, 4, 4}).size() == 16);
    const TileGrid grid{32, 32, 100, 100};
    const auto sample = autotune::sample_blocks(large, 10000, grid);
    CHECK(sample.size() == 5);
    CHECK(std::is_sorted(sample.begin(), sample.end()));
    CHECK(sample == autotune::sample_blocks(large, 10000, grid));
    for (const std::int64_t corner : {0, 99, 9900, 9999}) {
      CHECK(std::count(sample.begin(), sample.end(), corner) == 1);
    }
    CHECK(autotune::sample_blocks(large, 500, std::nullopt).size() == 500);
  }

  TEST_CASE("a sample of one row or column of tiles has no block twice") {
    const autotune::Work flat{.operations = 2.0 * 8 * (1 << 20) * 4096};
    const auto sample = autotune::sample_blocks(flat, 1 << 14, TileGrid{8, 64, 1, 1 << 14});
    CHECK(sample.size() == 8);
    CHECK(std::adjacent_find(sample.begin(), sample.end()) == sample.end());
  }

  TEST_CASE("the tiles that a part overlaps are found, in each matrix of a batch") {
    const TensorDesc output{.rows = 70, .columns = 33, .row_stride = 33, .matrices = 2};
    const TileGrid grid{16, 32, 10, 2};  // 5 rows of tiles in a matrix
    using Numbers = std::vector<std::int64_t>;
    CHECK(grid.overlapping({0, 0, 1, 1}, output) == Numbers{0});
    CHECK(grid.overlapping({15, 31, 2, 2}, output) == Numbers{0, 1, 2, 3});
    CHECK(grid.overlapping({64, 0, 6, 33}, output) == Numbers{8, 9});
    CHECK(grid.overlapping({70, 0, 1, 1}, output) == Numbers{10});
    CHECK(grid.overlapping({70 + 64, 32, 6, 1}, output) == Numbers{19});
  }

  TEST_CASE("tiles with any number in them are found") {
    PoisonedTensor result = poisoned(70, 33);
    const TileGrid grid{16, 32, 5, 2};
    write(result, {64, 32, 6, 1});  // the last tile
    write(result, {20, 5, 1, 1});   // one element of tile 2
    const auto tiles = autotune::written_tiles(result, grid);
    REQUIRE(tiles.size() == 2);
    CHECK(tiles[0].row == 16);
    CHECK(tiles[0].rows == 16);
    CHECK(tiles[1].row == 64);
    CHECK(tiles[1].columns == 1);
  }
}
