#include "kernel_templates/plane_products.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernel_templates/even_shares.hpp"
#include "kernel_templates/template_support.hpp"

namespace autotune {
namespace {

constexpr std::int64_t kCopyThreads = 128;
constexpr std::int64_t kExchangeBytes = 80;  // of the epilogue, for each thread that multiplies
// Copies of a tile's last rows read up to this many bytes behind the planes.
constexpr std::int64_t kSlack = 256 * PlaneProducts::kRowBytes;

std::int64_t k_tiles(const GemmProblem& problem) {
  return ceil_div(problem.k, PlaneProducts::kPlaneK);
}

// The launch and the memory of the kernel that splits the operands (device/split_planes.cuh).
struct Operand {
  std::int64_t rows;  // of op(A), or columns of op(B)
  bool contiguous;    // the elements of a row are so in memory
};

std::int64_t plane_bytes(const Operand& operand, const GemmProblem& problem, std::int64_t planes) {
  return size_bytes(problem.types.accumulate) * ((operand.rows + 511) / 256 * 256) +
         planes * k_tiles(problem) * ceil_div(operand.rows, 8) * 8 * PlaneProducts::kRowBytes;
}

constexpr std::int64_t kSplitBlocks = 8;

std::int64_t split_blocks(const Operand& operand, std::int64_t k, std::int64_t threads) {
  std::int64_t rows_of_cluster = 32;
  if (operand.contiguous) {
    std::int64_t team = 32;
    while (team < threads && 16 * team < k) team *= 2;
    const std::int64_t team_rows = k <= 128 ? 4 : k <= 256 ? 2 : 1;
    rows_of_cluster = kSplitBlocks * (threads / team) * team_rows;
  }
  return ceil_div(operand.rows, rows_of_cluster) * kSplitBlocks;
}

// Returns the bytes of as many buffers as the blocks of an SM have room for, each with one plane of
// both operands, and of the memory behind them in which the epilogue exchanges results.
std::int64_t shared_bytes(const PlaneProducts& v) {
  const std::int64_t stage = (v.tile_m() + v.tile_n()) * PlaneProducts::kRowBytes;
  const std::int64_t exchange = kExchangeBytes * 128 * v.warpgroups();
  return ((kSharedPerSm / 1024 / v.min_blocks() - 1) * 1024 - exchange) / stage * stage + exchange;
}

}  // namespace

std::int64_t PlaneProducts::clusters_m(const GemmProblem& problem) const {
  return ceil_div(problem.m, cluster() * tile_m());
}

std::int64_t PlaneProducts::cluster_tiles(const GemmProblem& problem) const {
  return clusters_m(problem) * ceil_div(problem.n, tile_n());
}

LaunchGeometry PlaneProducts::geometry(const GemmProblem& problem, std::int64_t planes) const {
  const Operand a{problem.m, problem.op_a == Transpose::none};
  const Operand b{problem.n, problem.op_b == Transpose::transposed};
  LaunchGeometry result;
  if (cluster_k() > 1) {
    result.grid[0] = cluster_tiles(problem) * cluster_k();
    result.blocks_per_cluster = cluster_k();
  } else {
    EvenShares{.tiles = cluster_tiles(problem),
               .k_tiles = k_tiles(problem),
               .split_k = split_k(),
               .cluster = cluster(),
               .resident = min_blocks(),
               .block_results = tile_m() * tile_n(),
               .sums = problem.types.accumulate}
        .apply_to(result);
  }
  result.block[0] = 128 * warpgroups() + kCopyThreads;
  result.dynamic_shared_bytes = shared_bytes(*this);
  result.raster = std::min(c.at("RASTER"), clusters_m(problem));
  result.waits_for_launch_before = true;
  result.workspace_bytes_shared =
      plane_bytes(a, problem, planes) + plane_bytes(b, problem, planes) + kSlack;
  // Strips of 32 rows, a part of K of each in shared memory.
  const std::int64_t held = 64 * std::min<std::int64_t>(ceil_div(k_tiles(problem), 8), 16);
  const std::int64_t threads = c.at("PREPARE_THREADS");
  constexpr std::int64_t kOfWarps = 256, kReceived = 292;  // see StridedRows
  const std::int64_t of_strip = a.contiguous && b.contiguous ? 0 : kReceived + 33 * held;
  const std::int64_t of_rows = a.contiguous || b.contiguous ? 16 * threads : 0;
  const std::int64_t floats = kOfWarps + std::max(of_strip, of_rows);
  const auto share = [&](const Operand& operand) {
    return LaunchGeometry::Preparation::Share{split_blocks(operand, problem.k, threads),
                                              plane_bytes(operand, problem, planes) + kSlack};
  };
  result.preparation = {.blocks = share(a).blocks + share(b).blocks,
                        .threads = threads,
                        .dynamic_shared_bytes = size_bytes(problem.types.a) * floats,
                        .shares = {share(a), share(b)}};
  return result;
}

double PlaneProducts::cycles(const TiledLaunch& launch, const GemmProblem& problem, int sm_count,
                             double k_tile_cycles, double tile_cycles) const {
  const double part_cycles = cluster_k() > 1 ? 1'000 : 4'000;
  const auto blocks = static_cast<double>(launch.geometry.blocks());
  const auto tiles = static_cast<double>(cluster_tiles(problem) * cluster());
  const auto slots = static_cast<double>(min_blocks() * sm_count);
  const double tile = static_cast<double>(k_tiles(problem)) * k_tile_cycles + tile_cycles;
  const double parts = blocks > tiles ? part_cycles : 0;
  if (split_k() == 0) {
    // One round is shared, and the last of several where that saves as many k_tiles
    // (device/even_shares.cuh).
    constexpr double kLeastSaved = 3;
    const double shares = tiles / blocks, rounds = std::ceil(shares);
    const double saved = (rounds - shares) * static_cast<double>(k_tiles(problem));
    const bool is_shared = tiles <= blocks || saved >= kLeastSaved;
    return (is_shared ? shares * tile + part_cycles : rounds * tile) + tile_cycles;
  }
  return std::ceil(blocks / slots) * (tile * tiles / blocks + tile_cycles + parts);
}

std::int64_t blocks_of_small_tile(const GemmProblem& problem, std::int64_t sms) {
  constexpr std::int64_t kMost = 8;
  const std::int64_t tiles = ceil_div(problem.m, 64) * ceil_div(problem.n, 64);
  std::int64_t blocks = 1;
  while (blocks < kMost && 2 * blocks * tiles <= sms && 4 * blocks <= k_tiles(problem)) blocks *= 2;
  return blocks;
}

std::vector<TuningParameter> plane_parameters(std::vector<std::int64_t> block_n) {
  return {
      {"BLOCK_N", "columns of a block's tile", std::move(block_n)},
      {"WARPGROUPS", "groups of four warps, with 64 rows of the tile each", {1, 2}},
      {"CLUSTER", "blocks that share the copies of B", {1, 2}},
      {"CLUSTER_K", "blocks of a cluster that split K of one tile", {1, 2, 4, 8}},
      {"MIN_BLOCKS", "blocks of an SM at a time, as __launch_bounds__ has them", {1, 2}},
      {"SPLIT_K",
       "1: a cluster for each tile; 0: persistent ones, which take tiles in turn",
       {0, 1}},
      {"RASTER", "tiles along M that run side by side and share B in the L2 cache", {4, 8, 16}},
      {"PREPARE_THREADS", "threads of the blocks that split the operands", {128, 256}},
  };
}

Constraint plane_blocks_constraint() {
  return constraint_on<PlaneProducts>(
      "blocks", "only blocks with 64 rows share an SM", {"WARPGROUPS", "MIN_BLOCKS"},
      [](const PlaneProducts& v) { return v.min_blocks() == 1 || v.warpgroups() == 1; });
}

Constraint plane_split_constraint() {
  return constraint_on<PlaneProducts>(
      "split", "with CLUSTER_K above 1, CLUSTER, MIN_BLOCKS and SPLIT_K are 1, and RASTER is 4",
      {"CLUSTER", "CLUSTER_K", "MIN_BLOCKS", "SPLIT_K", "RASTER"}, [](const PlaneProducts& v) {
        return v.cluster_k() == 1 || (v.cluster() == 1 && v.min_blocks() == 1 && v.split_k() == 1 &&
                                      v.c.at("RASTER") == 4);
      });
}

std::vector<Constraint> corrected_constraints() {
  return {
      plane_blocks_constraint(),
      plane_split_constraint(),
      constraint_on<PlaneProducts>("cluster", "only blocks with 128 rows and columns share copies",
                                   {"BLOCK_N", "WARPGROUPS", "CLUSTER"},
                                   [](const PlaneProducts& v) {
                                     return v.cluster() == 1 || v.warpgroups() * v.tile_n() == 256;
                                   }),
  };
}

namespace {

// Returns the configuration that is estimated to cost the busiest of 132 SMs least. A problem with
// fewer tiles of 128x128 than a quarter of the SMs has tiles of 64x64, which several blocks may
// share, so that more SMs have work. Other tiles have 128 rows, and their cost is a number of
// columns: an SM computes whole tiles in rounds, or all SMs share tiles of 128 columns evenly; a
// round, and the exchange of sums, cost as much time as some columns.
Configuration corrected_default(const GemmProblem& problem,
                                const std::vector<std::int64_t>& widths) {
  constexpr std::int64_t kSms = 132;
  constexpr double kColumnCycles = 12;  // of a k_tile
  constexpr double kWholeRoundCycles = 3'000;
  constexpr double kSharingCycles = 20'000;
  const double cycles = kColumnCycles * static_cast<double>(k_tiles(problem));
  const std::int64_t tiles_m = ceil_div(problem.m, 128);
  const std::int64_t tiles = tiles_m * ceil_div(problem.n, 128);
  const bool is_small = 4 * tiles <= kSms;
  std::int64_t block_n = 128, rounds = 0;
  double least = 128.0 * static_cast<double>(tiles) / kSms + kSharingCycles / cycles;
  for (const std::int64_t width : widths) {
    const std::int64_t all = ceil_div(tiles_m * ceil_div(problem.n, width), kSms);
    const double cost =
        static_cast<double>(all) * (static_cast<double>(width) + kWholeRoundCycles / cycles);
    if (cost > least) continue;
    least = cost;
    block_n = width;
    rounds = all;
  }
  Configuration result;
  result.set("BLOCK_N", is_small ? 64 : block_n);
  result.set("WARPGROUPS", is_small ? 1 : 2);
  result.set("CLUSTER", 1);
  result.set("CLUSTER_K", is_small ? blocks_of_small_tile(problem, kSms) : 1);
  result.set("MIN_BLOCKS", 1);
  result.set("SPLIT_K", is_small || rounds > 0 ? 1 : 0);
  result.set("RASTER", is_small || rounds == 1 ? 4 : 8);
  result.set("PREPARE_THREADS", 256);
  return result;
}

}  // namespace

GemmTemplate corrected_products(GemmTemplate own, const SplitProducts& split) {
  own.supports = [least_k = split.least_k](const GemmProblem& problem) {
    return problem.math == Math::emulated && problem.k >= least_k &&
           problem.k <= PlaneProducts::kMostK && problem.batch == 1;
  };
  own.default_configuration = [widths = split.default_columns](const GemmProblem& problem) {
    return corrected_default(problem, widths);
  };
  own.geometry = [planes = split.planes](const Configuration& configuration,
                                         const GemmProblem& problem) {
    return PlaneProducts{configuration}.geometry(problem, planes);
  };
  // The fewer roundings FP32 itself has, the fewer products may be added up with truncation.
  own.macros = [](const GemmProblem& problem) {
    constexpr std::int64_t kFewRoundings = 256;
    return problem.k < kFewRoundings ? std::vector<std::string>{"PROMOTE_K=32"}
                                     : std::vector<std::string>{};
  };
  own.tensor_products = [products = split.products, planes = split.planes](const GemmProblem&) {
    return TensorProducts{TensorInput::fp16, products, static_cast<int>(planes)};
  };
  own.cost_model = [products = split.products](
                       const Configuration& configuration, const TiledLaunch& launch,
                       const GemmProblem& problem, const SmLimits&, int sm_count) {
    constexpr double kTileCycles = 3'000;
    constexpr double kIdle = 0.2;  // of the time that one group of warps alone takes
    const PlaneProducts v{configuration};
    const auto groups = static_cast<double>(v.warpgroups() * v.min_blocks());
    const double k_tile =
        2 * products * static_cast<double>(v.tile_n()) * groups * (1 + kIdle / groups / groups);
    return v.cycles(launch, problem, sm_count, k_tile, kTileCycles);
  };
  return own;
}

KernelTemplate plane_template(GemmTemplate own) {
  own.min_compute_capability = 90;
  own.end_compute_capability = 100;
  own.shared_bytes = [](const Configuration&) -> std::int64_t { return 1024; };  // barriers
  own.tile_shape = [](const Configuration& configuration) {
    const PlaneProducts v{configuration};
    return TileShape{.results_m = 2,
                     .results_n = v.tile_n() / 4,
                     .unroll = PlaneProducts::kPlaneK,
                     .block_m = v.tile_m(),
                     .block_n = v.tile_n(),
                     .block_k = PlaneProducts::kPlaneK};
  };
  own.takes_prepared_operands = true;
  own.copying_threads = kCopyThreads;
  own.architecture_specific = true;
  own.launch_parameters = {
      {.name = "SPLIT_K", .least = 0}, kRaster, {.name = "PREPARE_THREADS", .least = 0}};
  return kernel_template(std::move(own));
}

}  // namespace autotune
