#include "kernel_templates/gemm_simt_accesses.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>

namespace autotune {
namespace {

constexpr std::int64_t kFloatBytes = 4;
constexpr std::int64_t kWarp = 32;
constexpr std::int64_t kWidest = 4;  // elements of one instruction

// One operand's constants and places, as the structs Operand, Shares and Side in gemm_simt.cu have
// them; there the names are explained.
struct Operand {
  std::int64_t tile_rows, block_k, threads;
  bool k_major, shared_k_major;
  std::int64_t results, lanes;        // of a thread, and lanes side by side, on this side
  std::int64_t rows, k, leading = 0;  // of the matrix

  [[nodiscard]] std::int64_t pitch() const {
    if (shared_k_major) return block_k + 4;
    return tile_rows + (k_major && tile_rows % 8 == 0 ? 4 : 0);
  }
  [[nodiscard]] std::int64_t shared_offset(std::int64_t row, std::int64_t at_k) const {
    return shared_k_major ? row * pitch() + at_k : at_k * pitch() + row;
  }
  [[nodiscard]] std::int64_t source(std::int64_t row, std::int64_t at_k) const {
    return k_major ? row * leading + at_k : at_k * leading + row;
  }

  // Elements of one copy.
  [[nodiscard]] std::int64_t copied() const {
    const bool widest = shared_k_major || (!k_major && tile_rows % kWidest == 0);
    const bool whole =
        k_major ? k >= block_k || k % kWidest == 0 : std::min(rows, tile_rows) % kWidest == 0;
    return widest && whole && leading % kWidest == 0 ? kWidest : 1;
  }
  [[nodiscard]] std::int64_t across() const {
    if (shared_k_major) return block_k / copied();
    return k_major ? 8 : std::gcd(tile_rows / copied(), threads);
  }
  [[nodiscard]] std::int64_t row_step() const {
    return k_major ? threads / across() : across() * copied();
  }
  [[nodiscard]] std::int64_t k_step() const {
    if (shared_k_major) return block_k;
    return k_major ? across() : threads / across();
  }
  [[nodiscard]] std::int64_t own_row(std::int64_t thread) const {
    return k_major ? thread / across() : thread % across() * copied();
  }
  [[nodiscard]] std::int64_t own_k(std::int64_t thread) const {
    if (shared_k_major) return thread % across() * copied();
    return k_major ? thread % across() : thread / across();
  }

  [[nodiscard]] std::int64_t chunk() const {
    return shared_k_major ? 1 : std::min<std::int64_t>(results, 4);
  }
  [[nodiscard]] std::int64_t offset(std::int64_t result) const {
    return result / chunk() * lanes * chunk() + result % chunk();
  }
  [[nodiscard]] std::int64_t depth() const { return shared_k_major ? 4 : 1; }  // k of one read
};

// The block of one configuration for a problem.
struct Block {
  const Configuration& c;
  const GemmProblem& problem;

  [[nodiscard]] std::int64_t lanes_n() const { return kWarp / c.at("LANES_M"); }
  [[nodiscard]] std::int64_t slice_k() const { return c.at("BLOCK_K") / c.at("SLICES"); }

  [[nodiscard]] Operand operand(const char* warps, const char* results, std::int64_t lanes,
                                bool k_major) const {
    return {.tile_rows = c.at(warps) * lanes * c.at(results),
            .block_k = c.at("BLOCK_K"),
            .threads = kWarp * c.at("WARPS_M") * c.at("WARPS_N") * c.at("SLICES"),
            .k_major = k_major,
            .shared_k_major = k_major && c.at("BY_LINE") == 1,
            .results = c.at(results),
            .lanes = lanes,
            .rows = 0,
            .k = problem.k};
  }
  [[nodiscard]] Operand a() const {
    Operand result =
        operand("WARPS_M", "THREAD_M", c.at("LANES_M"), problem.op_a == Transpose::none);
    result.rows = problem.m;
    result.leading = problem.lda();
    return result;
  }
  [[nodiscard]] Operand b() const {
    Operand result =
        operand("WARPS_N", "THREAD_N", lanes_n(), problem.op_b == Transpose::transposed);
    result.rows = problem.n;
    result.leading = problem.ldb();
    return result;
  }
};

// The place of a lane's first result in the block's tile.
struct Position {
  std::int64_t slice = 0, row = 0, column = 0;

  Position(const Block& block, std::int64_t warp, std::int64_t lane) {
    const Configuration& c = block.c;
    std::int64_t lane_m = 0;
    std::int64_t lane_n = 0;
    for (std::int64_t side = 1; side < kWarp; side *= 2) {
      if (side < block.lanes_n()) {
        lane_n += lane % 2 * side;
        lane /= 2;
      }
      if (side < c.at("LANES_M")) {
        lane_m += lane % 2 * side;
        lane /= 2;
      }
    }
    const std::int64_t warps_n = c.at("WARPS_N");
    slice = warp / (c.at("WARPS_M") * warps_n);
    row = warp / warps_n % c.at("WARPS_M") * c.at("LANES_M") * c.at("THREAD_M") +
          lane_m * block.a().chunk();
    column = warp % warps_n * block.lanes_n() * c.at("THREAD_N") + lane_n * block.b().chunk();
  }
};

std::vector<WarpAccess> copies(std::int64_t warp, const std::string& name, const Operand& o) {
  std::vector<WarpAccess> accesses;
  const std::int64_t bytes = o.copied() * kFloatBytes;
  for (std::int64_t row = 0; row < o.tile_rows; row += o.row_step()) {
    for (std::int64_t at_k = 0; at_k < o.block_k; at_k += o.k_step()) {
      WarpAccess load{"load " + name, MemorySpace::global, bytes, {}};
      WarpAccess store{"store tile of " + name, MemorySpace::shared, bytes, {}};
      for (std::int64_t thread = kWarp * warp; thread < kWarp * (warp + 1); ++thread) {
        const std::int64_t own_row = o.own_row(thread) + row;
        const std::int64_t own_k = o.own_k(thread) + at_k;
        if (own_row >= o.tile_rows || own_k >= o.block_k) continue;
        store.offsets.push_back(o.shared_offset(own_row, own_k) * kFloatBytes);
        if (own_row >= o.rows || own_k >= o.k) continue;
        load.offsets.push_back(o.source(own_row, own_k) * kFloatBytes);
      }
      if (!load.offsets.empty()) accesses.push_back(std::move(load));
      if (!store.offsets.empty()) accesses.push_back(std::move(store));
    }
  }
  return accesses;
}

std::vector<WarpAccess> reads(const Block& block, std::int64_t warp, const std::string& name,
                              const Operand& o, std::int64_t Position::*row) {
  std::vector<WarpAccess> accesses;
  const std::int64_t steps = std::min(block.c.at("UNROLL"), block.slice_k());
  for (std::int64_t at_k = 0; at_k < steps; at_k += o.depth()) {
    for (std::int64_t result = 0; result < o.results; result += o.chunk()) {
      WarpAccess read{
          "read tile of " + name, MemorySpace::shared, o.depth() * o.chunk() * kFloatBytes, {}};
      for (std::int64_t lane = 0; lane < kWarp; ++lane) {
        const Position own(block, warp, lane);
        read.offsets.push_back(
            o.shared_offset(own.*row + o.offset(result), own.slice * block.slice_k() + at_k) *
            kFloatBytes);
      }
      accesses.push_back(std::move(read));
    }
  }
  return accesses;
}

// Each slice stores its part of the results; those that C does not have are left out. Lanes that
// exchange results before have those of their warp side by side.
std::vector<WarpAccess> stores(const Block& block, std::int64_t warp) {
  const Operand a = block.a();
  const Operand b = block.b();
  const GemmProblem& problem = block.problem;
  const std::int64_t count = a.results * b.results / block.c.at("SLICES") / block.c.at("CLUSTER");
  const std::int64_t columns = std::min(count, b.results);
  const std::int64_t chunk = std::min(columns, b.chunk());
  const std::int64_t width = problem.n % chunk == 0 ? chunk : 1;
  const std::int64_t first =
      Position(block, warp, 0).slice * a.results * b.results / block.c.at("SLICES");
  const bool exchanged = block.c.at("EXCHANGE") == 1 && width < chunk && chunk == b.chunk();
  const std::int64_t across = block.lanes_n() * chunk;
  std::vector<WarpAccess> accesses;
  for (std::int64_t result = first; result < first + count; result += width) {
    WarpAccess store{"store C", MemorySpace::global, width * kFloatBytes, {}};
    for (std::int64_t lane = 0; lane < kWarp; ++lane) {
      Position own(block, warp, lane);
      if (exchanged) {
        const std::int64_t place = result % chunk * kWarp + lane;
        own = Position(block, warp, 0);
        own.row += place / across * a.chunk();
        own.column += place % across - result % chunk;
      }
      const std::int64_t row = own.row + a.offset(result / b.results);
      const std::int64_t column = own.column + b.offset(result % b.results);
      if (row >= problem.m || column >= problem.n) continue;
      store.offsets.push_back((row * problem.ldc() + column) * kFloatBytes);
    }
    if (!store.offsets.empty()) accesses.push_back(std::move(store));
  }
  return accesses;
}

}  // namespace

std::vector<WarpAccess> gemm_simt_accesses(const Configuration& configuration,
                                           const GemmProblem& problem, std::int64_t warp) {
  const Block block{configuration, problem};
  std::vector<WarpAccess> all;
  const auto add = [&all](std::vector<WarpAccess> accesses) {
    std::move(accesses.begin(), accesses.end(), std::back_inserter(all));
  };
  add(copies(warp, "A", block.a()));
  add(copies(warp, "B", block.b()));
  add(reads(block, warp, "A", block.a(), &Position::row));
  add(reads(block, warp, "B", block.b(), &Position::column));
  add(stores(block, warp));
  return all;
}

}  // namespace autotune
