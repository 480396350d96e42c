// The description of gemm_planes.cu, whose comments explain the parameters: of gemm_fp16x1 and
// gemm_fp16x3, which multiply one plane of FP16 or two of each operand.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "autotune/problem.hpp"

#include "kernel_templates/even_shares.hpp"
#include "kernel_templates/gemm_template.hpp"
#include "kernel_templates/template_support.hpp"

namespace autotune {

std::vector<KernelTemplate> make_gemm_planes(std::string_view source);

namespace {

constexpr std::int64_t kPlaneK = 64;             // elements of K in a k_tile
constexpr std::int64_t kRowBytes = 2 * kPlaneK;  // of a k_tile
constexpr std::int64_t kCopyThreads = 128;
constexpr std::int64_t kExchangeBytes = 80;  // of the epilogue, for each thread that multiplies
// Copies of a tile's last rows read up to this many bytes behind the planes.
constexpr std::int64_t kSlack = 256 * kRowBytes;
constexpr std::int64_t kSplitBlocks = 8;  // of a cluster that splits operands
constexpr std::int64_t kSms = 132;

std::int64_t k_tiles(const GemmProblem& problem) {
  return ceil_div(problem.k, kPlaneK);
}

// An operand, as the kernel that splits it (device/split_planes.cuh) sees it.
struct Operand {
  std::int64_t rows;  // of op(A), or columns of op(B)
  bool contiguous;    // the elements of a row are so in memory

  [[nodiscard]] std::int64_t plane_bytes(const GemmProblem& problem, std::int64_t planes) const {
    return size_bytes(problem.types.accumulate) * ((rows + 511) / 256 * 256) +
           planes * k_tiles(problem) * ceil_div(rows, 8) * 8 * kRowBytes;
  }

  [[nodiscard]] std::int64_t split_blocks(std::int64_t k, std::int64_t threads) const {
    std::int64_t rows_of_cluster = 32;
    if (contiguous) {
      std::int64_t team = 32;
      while (team < threads && 16 * team < k) team *= 2;
      const std::int64_t team_rows = k <= 128 ? 4 : k <= 256 ? 2 : 1;
      rows_of_cluster = kSplitBlocks * (threads / team) * team_rows;
    }
    return ceil_div(rows, rows_of_cluster) * kSplitBlocks;
  }
};

// A configuration's values by name. A constraint sees only those of its parameters set.
struct Values {
  const Configuration& c;

  [[nodiscard]] std::int64_t tile_m() const { return 64 * warpgroups(); }
  [[nodiscard]] std::int64_t tile_n() const { return c.at("BLOCK_N"); }
  [[nodiscard]] std::int64_t warpgroups() const { return c.at("WARPGROUPS"); }
  [[nodiscard]] std::int64_t cluster() const { return c.at("CLUSTER"); }
  [[nodiscard]] std::int64_t cluster_k() const { return c.at("CLUSTER_K"); }
  [[nodiscard]] std::int64_t min_blocks() const { return c.at("MIN_BLOCKS"); }
  [[nodiscard]] std::int64_t split_k() const { return c.at("SPLIT_K"); }

  // Tiles of C along M, and all of them, in whole clusters.
  [[nodiscard]] std::int64_t clusters_m(const GemmProblem& problem) const {
    return ceil_div(problem.m, cluster() * tile_m());
  }
  [[nodiscard]] std::int64_t cluster_tiles(const GemmProblem& problem) const {
    return clusters_m(problem) * ceil_div(problem.n, tile_n());
  }

  // Returns the bytes of as many buffers as the blocks of an SM have room for, each with one plane
  // of both operands, and of the memory behind them in which the epilogue exchanges results.
  [[nodiscard]] std::int64_t shared_bytes() const {
    const std::int64_t stage = (tile_m() + tile_n()) * kRowBytes;
    const std::int64_t exchange = kExchangeBytes * 128 * warpgroups();
    return ((kSharedPerSm / 1024 / min_blocks() - 1) * 1024 - exchange) / stage * stage + exchange;
  }
};

LaunchGeometry::Preparation preparation(const Configuration& configuration,
                                        const GemmProblem& problem, const Operand& a,
                                        const Operand& b, std::int64_t planes) {
  // Strips of 32 rows, a part of K of each in shared memory.
  const std::int64_t held = 64 * std::min<std::int64_t>(ceil_div(k_tiles(problem), 8), 16);
  const std::int64_t threads = configuration.at("PREPARE_THREADS");
  constexpr std::int64_t kOfWarps = 256, kReceived = 292;  // see StridedRows
  const std::int64_t of_strip = a.contiguous && b.contiguous ? 0 : kReceived + 33 * held;
  const std::int64_t of_rows = a.contiguous || b.contiguous ? 16 * threads : 0;
  const auto share = [&](const Operand& operand) {
    return LaunchGeometry::Preparation::Share{operand.split_blocks(problem.k, threads),
                                              operand.plane_bytes(problem, planes) + kSlack};
  };
  return {.blocks = share(a).blocks + share(b).blocks,
          .threads = threads,
          .dynamic_shared_bytes =
              size_bytes(problem.types.a) * (kOfWarps + std::max(of_strip, of_rows)),
          .shares = {share(a), share(b)}};
}

LaunchGeometry geometry(const Configuration& configuration, const GemmProblem& problem,
                        std::int64_t planes) {
  const Values v{configuration};
  const Operand a{problem.m, problem.op_a == Transpose::none};
  const Operand b{problem.n, problem.op_b == Transpose::transposed};
  LaunchGeometry result;
  if (v.cluster_k() > 1) {
    result.grid[0] = v.cluster_tiles(problem) * v.cluster_k();
    result.blocks_per_cluster = v.cluster_k();
  } else {
    EvenShares{.tiles = v.cluster_tiles(problem),
               .k_tiles = k_tiles(problem),
               .split_k = v.split_k(),
               .cluster = v.cluster(),
               .resident = v.min_blocks(),
               .block_results = v.tile_m() * v.tile_n(),
               .sums = problem.types.accumulate}
        .apply_to(result);
  }
  result.block[0] = 128 * v.warpgroups() + kCopyThreads;
  result.dynamic_shared_bytes = v.shared_bytes();
  result.raster = std::min(configuration.at("RASTER"), v.clusters_m(problem));
  result.waits_for_launch_before = true;
  result.workspace_bytes_shared =
      a.plane_bytes(problem, planes) + b.plane_bytes(problem, planes) + kSlack;
  result.preparation = preparation(configuration, problem, a, b, planes);
  return result;
}

// Returns the cycles of the busiest SM, with those of a k_tile of all its blocks and of what a tile
// costs besides.
double busiest_cycles(const Values& v, const TiledLaunch& launch, const GemmProblem& problem,
                      int sm_count, double k_tile_cycles, double tile_cycles) {
  const double part_cycles = v.cluster_k() > 1 ? 1'000 : 4'000;
  const auto blocks = static_cast<double>(launch.geometry.blocks());
  const auto tiles = static_cast<double>(v.cluster_tiles(problem) * v.cluster());
  const auto slots = static_cast<double>(v.min_blocks() * sm_count);
  const double tile = static_cast<double>(k_tiles(problem)) * k_tile_cycles + tile_cycles;
  const double parts = blocks > tiles ? part_cycles : 0;
  if (v.split_k() == 0) {
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

// A k_tile takes the time of its matrix instructions or that of its copies from the L2 cache, of
// which an SM has a share.
double cycles_of_one(const Configuration& configuration, const TiledLaunch& launch,
                     const GemmProblem& problem, const SmLimits&, int sm_count) {
  constexpr double kIdle = 0.1;  // of the time that one group of warps alone takes
  constexpr double kBytesPerCycle = 45;
  const Values v{configuration};
  const auto columns = static_cast<double>(v.tile_n());
  const auto groups = static_cast<double>(v.warpgroups() * v.min_blocks());
  const double instructions = 2 * columns * groups * (1 + kIdle / groups / groups);
  const std::int64_t copied_rows = v.min_blocks() * (v.tile_m() + v.tile_n() / v.cluster());
  const double copies = static_cast<double>(kRowBytes * copied_rows) / kBytesPerCycle;
  return busiest_cycles(v, launch, problem, sm_count, std::max(instructions, copies),
                        1'000 + 16 * columns);
}

double cycles_of_three(const Configuration& configuration, const TiledLaunch& launch,
                       const GemmProblem& problem, const SmLimits&, int sm_count) {
  constexpr double kTileCycles = 3'000;
  constexpr double kIdle = 0.2;  // of the time that one group of warps alone takes
  const Values v{configuration};
  const auto groups = static_cast<double>(v.warpgroups() * v.min_blocks());
  const double k_tile =
      2 * 3 * static_cast<double>(v.tile_n()) * groups * (1 + kIdle / groups / groups);
  return busiest_cycles(v, launch, problem, sm_count, k_tile, kTileCycles);
}

std::vector<TuningParameter> parameters(std::vector<std::int64_t> block_n) {
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

// The constraints of both templates, and those of one.
std::vector<Constraint> constraints(std::vector<Constraint> own) {
  own.push_back(constraint_on<Values>(
      "blocks", "only blocks with 64 rows share an SM", {"WARPGROUPS", "MIN_BLOCKS"},
      [](const Values& v) { return v.min_blocks() == 1 || v.warpgroups() == 1; }));
  own.push_back(constraint_on<Values>(
      "split", "with CLUSTER_K above 1, CLUSTER, MIN_BLOCKS and SPLIT_K are 1, and RASTER is 4",
      {"CLUSTER", "CLUSTER_K", "MIN_BLOCKS", "SPLIT_K", "RASTER"}, [](const Values& v) {
        return v.cluster_k() == 1 || (v.cluster() == 1 && v.min_blocks() == 1 && v.split_k() == 1 &&
                                      v.c.at("RASTER") == 4);
      }));
  return own;
}

Constraint cluster_constraint(std::string meaning, std::int64_t least, std::int64_t most) {
  return constraint_on<Values>(
      "cluster", std::move(meaning), {"BLOCK_N", "WARPGROUPS", "CLUSTER"},
      [least, most](const Values& v) {
        return v.cluster() == 1 ||
               (v.warpgroups() == 2 && v.tile_n() >= least && v.tile_n() <= most);
      });
}

// Returns the default with these tiles: CLUSTER_K is more than 1 for small ones (64x64) where they
// leave most SMs idle, as long as each block has several k_tiles.
Configuration configuration_of(const GemmProblem& problem, std::int64_t block_n,
                               std::int64_t warpgroups, std::int64_t cluster, std::int64_t split_k,
                               std::int64_t raster) {
  constexpr std::int64_t kMost = 8;
  const std::int64_t tiles = ceil_div(problem.m, 64) * ceil_div(problem.n, 64);
  const bool is_small = block_n == 64 && warpgroups == 1;
  std::int64_t cluster_k = 1;
  while (is_small && cluster_k < kMost && 2 * cluster_k * tiles <= kSms &&
         4 * cluster_k <= k_tiles(problem)) {
    cluster_k *= 2;
  }
  return Configuration({{"BLOCK_N", block_n},
                        {"WARPGROUPS", warpgroups},
                        {"CLUSTER", cluster},
                        {"CLUSTER_K", cluster_k},
                        {"MIN_BLOCKS", 1},
                        {"SPLIT_K", split_k},
                        {"RASTER", raster},
                        {"PREPARE_THREADS", 256}});
}

Configuration default_of_one(const GemmProblem& problem) {
  const std::int64_t tiles_m = ceil_div(problem.m, 128);
  const std::int64_t tiles = tiles_m * ceil_div(problem.n, 128);
  const std::int64_t wide_tiles = tiles_m * ceil_div(problem.n, 256);
  const bool is_small = 2 * tiles <= kSms / 2;
  const bool is_medium = tiles <= kSms;
  // Tiles that nearly fill the device at once are not shared.
  const bool is_one_round = wide_tiles <= kSms && 8 * wide_tiles >= 7 * kSms;
  return configuration_of(problem,
                          is_small    ? 64
                          : is_medium ? 128
                                      : 256,
                          is_medium ? 1 : 2, is_medium || tiles_m % 2 == 1 ? 1 : 2,
                          is_medium || is_one_round ? 1 : 0, is_medium ? 4 : 8);
}

constexpr std::int64_t kWidths[] = {64, 80, 96, 112, 128};  // of tiles with three products

// Returns the configuration that is estimated to cost the busiest SM least. A problem with fewer
// tiles of 128x128 than a quarter of the SMs has tiles of 64x64, which several blocks may share, so
// that more SMs have work. Other tiles have 128 rows, and their cost is a number of columns: an SM
// computes whole tiles in rounds, or all SMs share tiles of 128 columns evenly; a round, and the
// exchange of sums, cost as much time as some columns.
Configuration default_of_three(const GemmProblem& problem) {
  constexpr double kColumnCycles = 12;  // of a k_tile
  constexpr double kRoundCycles = 3'000;
  constexpr double kSharingCycles = 20'000;
  const double cycles = kColumnCycles * static_cast<double>(k_tiles(problem));
  const std::int64_t tiles_m = ceil_div(problem.m, 128);
  const std::int64_t tiles = tiles_m * ceil_div(problem.n, 128);
  if (4 * tiles <= kSms) return configuration_of(problem, 64, 1, 1, 1, 4);
  std::int64_t block_n = 128, rounds = 0;
  double least = 128.0 * static_cast<double>(tiles) / kSms + kSharingCycles / cycles;
  for (const std::int64_t width : kWidths) {
    const std::int64_t all = ceil_div(tiles_m * ceil_div(problem.n, width), kSms);
    const double cost =
        static_cast<double>(all) * (static_cast<double>(width) + kRoundCycles / cycles);
    if (cost > least) continue;
    least = cost;
    block_n = width;
    rounds = all;
  }
  return configuration_of(problem, block_n, 2, 1, rounds > 0 ? 1 : 0, rounds == 1 ? 4 : 8);
}

// Makes a template from a description that lacks what does not depend on the number of products.
// least_k: with less, FP32 is more accurate on some data, or the preparation takes nearly all time.
KernelTemplate plane_template(GemmTemplate own, Math math, std::int64_t least_k, int products,
                              int planes) {
  own.space_version = 2;
  own.min_compute_capability = 90;
  own.end_compute_capability = 100;
  own.supports = [math, least_k](const GemmProblem& problem) {
    constexpr std::int64_t kMostK = (1 << 21) - 1;  // words of rows count elements in 21 bits
    return problem.math == math && problem.k >= least_k && problem.k <= kMostK &&
           problem.batch == 1;
  };
  own.geometry = [planes](const Configuration& configuration, const GemmProblem& problem) {
    return geometry(configuration, problem, planes);
  };
  own.shared_bytes = [](const Configuration&) -> std::int64_t { return 1024; };  // barriers
  own.tile_shape = [](const Configuration& configuration) {
    const Values v{configuration};
    return TileShape{.results_m = 2,
                     .results_n = v.tile_n() / 4,
                     .unroll = kPlaneK,
                     .block_m = v.tile_m(),
                     .block_n = v.tile_n(),
                     .block_k = kPlaneK};
  };
  own.tensor_products = [products, planes](const GemmProblem&) {
    return TensorProducts{TensorInput::fp16, products, planes};
  };
  own.takes_prepared_operands = true;
  own.copying_threads = kCopyThreads;
  own.architecture_specific = true;
  own.launch_parameters = {
      {.name = "SPLIT_K", .least = 0}, kRaster, {.name = "PREPARE_THREADS", .least = 0}};
  return kernel_template(std::move(own));
}

}  // namespace

std::vector<KernelTemplate> make_gemm_planes(std::string_view source) {
  const ConfigSpace of_one(
      parameters({64, 128, 192, 256}),
      constraints(
          {constraint_on<Values>(
               "tile", "only tiles with 128 rows have more than 128 columns",
               {"BLOCK_N", "WARPGROUPS"},
               [](const Values& v) { return v.tile_n() <= 128 || v.warpgroups() == 2; }),
           cluster_constraint("only blocks with 128 rows and at least 128 columns share copies",
                              128, 256)}));
  const ConfigSpace of_three(parameters({std::begin(kWidths), std::end(kWidths)}),
                             constraints({cluster_constraint(
                                 "only blocks with 128 rows and columns share copies", 128, 128)}));
  GemmTemplate one{.name = "gemm_fp16x1",
                   .source = source,
                   .space = of_one,
                   .default_configuration = default_of_one,
                   .cost_model = cycles_of_one,
                   .first_choice = [](const GemmProblem& problem) {
                     constexpr double kMany = 1e9;
                     return problem.math == Math::tf32 && problem.operations() >= kMany;
                   }};
  GemmTemplate three{.name = "gemm_fp16x3",
                     .source = source,
                     .space = of_three,
                     .default_configuration = default_of_three,
                     .cost_model = cycles_of_three,
                     // The fewer roundings FP32 itself has, the fewer products may be added up with
                     // truncation.
                     .macros =
                         [](const GemmProblem& problem) {
                           constexpr std::int64_t kFewRoundings = 256;
                           return problem.k < kFewRoundings
                                      ? std::vector<std::string>{"PROMOTE_K=32"}
                                      : std::vector<std::string>{};
                         },
                     .first_choice =
                         [](const GemmProblem& problem) {
                           constexpr double kMany = 1e8;
                           return problem.math == Math::emulated && problem.operations() >= kMany;
                         }};
  return {plane_template(std::move(one), Math::tf32, 32, 1, 1),
          plane_template(std::move(three), Math::emulated, 64, 3, 2)};
}

}  // namespace autotune
