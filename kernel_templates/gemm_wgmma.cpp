// The description of gemm_wgmma.cu, whose comments explain the parameters.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernel_templates/even_shares.hpp"
#include "kernel_templates/gemm_template.hpp"
#include "kernel_templates/template_support.hpp"

namespace autotune {

std::vector<KernelTemplate> make_gemm_wgmma(std::string_view source);

namespace {

constexpr std::int64_t kTileK = 64;              // elements of K in a k_tile
constexpr std::int64_t kLineBytes = 2 * kTileK;  // of a row or column of a k_tile
constexpr std::int64_t kBoxLines = 64;           // of an MN-major operand
constexpr std::int64_t kMostStages = 8;
constexpr std::int64_t kStagingBytes = 2048;  // of a warp

// A configuration's values by name. A constraint sees only those of its parameters set.
struct Values {
  const Configuration& c;

  [[nodiscard]] std::int64_t tile_m() const { return c.at("BLOCK_M"); }
  [[nodiscard]] std::int64_t tile_n() const { return c.at("BLOCK_N"); }
  [[nodiscard]] bool takes_turns() const { return c.at("PINGPONG") == 1; }
  [[nodiscard]] std::int64_t cluster() const { return c.at("CLUSTER"); }
  [[nodiscard]] std::int64_t cluster_k() const { return c.at("CLUSTER_K"); }
  [[nodiscard]] std::int64_t split_k() const { return c.at("SPLIT_K"); }

  [[nodiscard]] std::int64_t groups() const { return takes_turns() || tile_m() > 64 ? 2 : 1; }
  // Sums of a thread.
  [[nodiscard]] std::int64_t sums() const {
    return tile_m() * tile_n() / 128 / (takes_turns() ? 1 : groups());
  }
  [[nodiscard]] std::int64_t threads() const {
    return 128 * groups() + (groups() == 2 && sums() > 64 ? 128 : 32);
  }

  // Tiles of C along M, and all of them, in whole clusters.
  [[nodiscard]] std::int64_t clusters_m(const GemmProblem& problem) const {
    return ceil_div(problem.m, cluster() * tile_m());
  }
  [[nodiscard]] std::int64_t cluster_tiles(const GemmProblem& problem) const {
    return clusters_m(problem) * ceil_div(problem.n, tile_n()) * problem.batch;
  }

  // Returns the bytes of as many buffers as there is room for, each with a k_tile of both operands,
  // and of the memory behind them in which warps exchange results.
  [[nodiscard]] std::int64_t shared_bytes() const {
    const std::int64_t stage = (tile_m() + tile_n()) * kLineBytes;
    const std::int64_t staging = 4 * groups() * kStagingBytes;
    return std::min((kSharedPerSm - 1024 - staging) / stage, kMostStages) * stage + staging;
  }
};

std::vector<TuningParameter> parameters() {
  return {
      {"BLOCK_M", "rows of a block's tile", {64, 128, 256}},
      {"BLOCK_N", "columns of a block's tile", {64, 128, 192, 256}},
      {"PINGPONG", "1: two groups of four warps take tiles in turn", {0, 1}},
      {"CLUSTER", "blocks that share the copies of B", {1, 2, 4}},
      {"CLUSTER_K", "blocks of a cluster that split K of one tile", {1, 2, 4, 8}},
      {"SPLIT_K",
       "1: a cluster for each tile; 0: persistent ones, which take tiles in turn",
       {0, 1}},
      {"RASTER", "tiles along M that run side by side and share B in the L2 cache", {4, 8, 16}},
  };
}

std::vector<Constraint> constraints() {
  return {
      constraint_on<Values>("registers", "a thread has at most 128 sums",
                            {"BLOCK_M", "BLOCK_N", "PINGPONG"},
                            [](const Values& v) { return v.sums() <= 128; }),
      constraint_on<Values>(
          "cluster",
          "four blocks share copies only where each has one tile, of 64 rows; a GPU may have no "
          "place for as many clusters of four as its number of SMs suggests",
          {"BLOCK_M", "PINGPONG", "CLUSTER", "SPLIT_K"},
          [](const Values& v) {
            return v.cluster() < 4 || (v.tile_m() == 64 && !v.takes_turns() && v.split_k() == 1);
          }),
      constraint_on<Values>("turns", "PINGPONG=1 only with SPLIT_K=0 and at most 128 rows",
                            {"BLOCK_M", "PINGPONG", "SPLIT_K"},
                            [](const Values& v) {
                              return !v.takes_turns() || (v.split_k() == 0 && v.tile_m() <= 128);
                            }),
      constraint_on<Values>(
          "split",
          "with CLUSTER_K above 1, BLOCK_M is at most 128, PINGPONG is 0, CLUSTER and SPLIT_K are "
          "1, and RASTER is 4",
          {"BLOCK_M", "PINGPONG", "CLUSTER", "CLUSTER_K", "SPLIT_K", "RASTER"},
          [](const Values& v) {
            return v.cluster_k() == 1 ||
                   (v.tile_m() <= 128 && !v.takes_turns() && v.cluster() == 1 && v.split_k() == 1 &&
                    v.c.at("RASTER") == 4);
          }),
  };
}

// Returns the box of a copy: a part of the lines (rows of op(A), columns of op(B)) of a tile that
// `blocks` share, by 64 of K; of an operand that has the lines of one k side by side, a part of K.
LaunchGeometry::Box box(bool mn_major, std::int64_t lines, std::int64_t blocks) {
  if (mn_major) return {kTileK / blocks, kBoxLines};
  return {lines / blocks, kTileK};
}

LaunchGeometry geometry(const Configuration& configuration, const GemmProblem& problem) {
  const Values v{configuration};
  LaunchGeometry result;
  if (v.cluster_k() > 1) {
    result.grid[0] = v.cluster_tiles(problem) * v.cluster_k();
    result.blocks_per_cluster = v.cluster_k();
  } else {
    EvenShares{.tiles = v.cluster_tiles(problem),
               .k_tiles = ceil_div(problem.k, kTileK),
               .split_k = v.split_k(),
               .cluster = v.cluster(),
               .block_results = v.tile_m() * v.tile_n(),
               .sums = problem.types.accumulate}
        .apply_to(result);
  }
  result.block[0] = v.threads();
  result.dynamic_shared_bytes = v.shared_bytes();
  result.raster = std::min(configuration.at("RASTER"), v.clusters_m(problem));
  result.waits_for_launch_before = true;
  result.tensor_boxes[kGemmA] = box(problem.op_a == Transpose::transposed, v.tile_m(), 1);
  result.tensor_boxes[kGemmB] = box(problem.op_b == Transpose::none, v.tile_n(), v.cluster());
  result.map_swizzle = kLineBytes;
  return result;
}

// A k_tile takes the time of its matrix instructions or that of its copies from the L2 cache, of
// which an SM has a share. The stores of a tile come on top, unless the other group multiplies
// meanwhile.
double cost_model(const Configuration& configuration, const TiledLaunch& launch,
                  const GemmProblem& problem, const SmLimits&, int sm_count) {
  constexpr double kFmasPerCycle = 2048;
  constexpr double kIdle = 0.1;  // of the time that one group of warps alone takes
  constexpr double kCopiedPerCycle = 45, kStoredPerCycle = 32;  // bytes
  constexpr double kStartCycles = 1'500, kPartCycles = 4'000, kClusterCycles = 1'000;
  constexpr double kLeastSaved = 3;  // k_tiles; see device/even_shares.cuh
  const Values v{configuration};
  const auto rows = static_cast<double>(v.tile_m()), columns = static_cast<double>(v.tile_n());
  const auto groups = static_cast<double>(v.groups());
  const double instructions =
      rows * columns * static_cast<double>(kTileK) / kFmasPerCycle * (1 + kIdle / groups / groups);
  const double copies = static_cast<double>(kLineBytes) *
                        (rows + columns / static_cast<double>(v.cluster())) / kCopiedPerCycle;
  const double stores =
      rows * columns * static_cast<double>(size_bytes(problem.types.c)) / kStoredPerCycle;
  const auto k_tiles = static_cast<double>(ceil_div(problem.k, kTileK));
  const double products = k_tiles * std::max(instructions, copies);
  const auto blocks = static_cast<double>(launch.geometry.blocks());
  const auto tiles = static_cast<double>(v.cluster_tiles(problem) * v.cluster());
  if (v.split_k() == 1) {
    const double parts = v.cluster_k() > 1 ? kClusterCycles : 0;
    return std::ceil(blocks / sm_count) *
           (products * tiles / blocks + stores + kStartCycles + parts);
  }
  const double shares = tiles / blocks, rounds = std::ceil(shares);
  const bool is_shared = tiles <= blocks || (rounds - shares) * k_tiles >= kLeastSaved;
  const double tile = v.takes_turns() ? products : products + stores;
  return (is_shared ? shares * tile + kPartCycles : rounds * tile) + kStartCycles +
         (v.takes_turns() ? stores : 0);
}

// The largest tiles that are enough to keep a device busy.
Configuration default_configuration(const GemmProblem& problem) {
  constexpr std::int64_t kEnough = 96;  // tiles
  const auto tiles = [&](std::int64_t rows, std::int64_t columns) {
    return ceil_div(problem.m, rows) * ceil_div(problem.n, columns) * problem.batch;
  };
  const auto made = [&](std::int64_t rows, std::int64_t columns, std::int64_t cluster,
                        std::int64_t cluster_k, std::int64_t split_k) {
    const bool has_whole_clusters = ceil_div(problem.m, rows) % cluster == 0;
    return Configuration({{"BLOCK_M", rows},
                          {"BLOCK_N", columns},
                          {"PINGPONG", 0},
                          {"CLUSTER", has_whole_clusters ? cluster : 1},
                          {"CLUSTER_K", cluster_k},
                          {"SPLIT_K", split_k},
                          {"RASTER", split_k == 0 ? 8 : 4}});
  };
  if (tiles(128, 256) >= kEnough) return made(128, 256, 2, 1, 0);
  if (tiles(128, 128) >= kEnough) return made(128, 128, 2, 1, 0);
  if (tiles(64, 128) >= kEnough) return made(64, 128, 2, 1, 1);
  std::int64_t cluster_k = 1;
  while (cluster_k < 8 && cluster_k * tiles(64, 64) < kEnough &&
         problem.k >= 4 * kTileK * cluster_k) {
    cluster_k *= 2;
  }
  return made(64, 64, cluster_k == 1 ? 2 : 1, cluster_k, 1);
}

// Returns whether blocks can count the tiles.
bool supports(const GemmProblem& problem) {
  constexpr std::int64_t kMostTiles = std::numeric_limits<std::int32_t>::max();
  return ceil_div(problem.m, 64) * ceil_div(problem.n, 64) <= kMostTiles / problem.batch;
}

}  // namespace

std::vector<KernelTemplate> make_gemm_wgmma(std::string_view source) {
  return {kernel_template(
      {.name = "gemm_wgmma",
       .space_version = 1,
       .source = source,
       .space = ConfigSpace(parameters(), constraints()),
       .min_compute_capability = 90,
       .end_compute_capability = 100,
       .types = is_16_bit,
       .supports = supports,
       .default_configuration = default_configuration,
       .geometry = geometry,
       .shared_bytes = [](const Configuration&) -> std::int64_t { return 1024; },  // barriers
       .tile_shape =
           [](const Configuration& configuration) {
             const Values v{configuration};
             return TileShape{.results_m = 2 * std::max<std::int64_t>(v.sums() * 2 / v.tile_n(), 1),
                              .results_n = v.tile_n() / 4,
                              .unroll = kTileK,
                              .block_m = v.tile_m(),
                              .block_n = v.tile_n(),
                              .block_k = kTileK};
           },
       .cost_model = cost_model,
       .tensor_products =
           [](const GemmProblem&) {
             return TensorProducts{.input = TensorInput::fp16, .products = 1, .planes = 0};
           },
       .first_choice =
           [](const GemmProblem& problem) { return std::min(problem.m, problem.n) > 64; },
       .takes_tensor_maps = true,
       .copying_threads = 32,
       .architecture_specific = true,
       .needs_alignment = true,
       .launch_parameters = {{.name = "SPLIT_K", .least = 0}, kRaster}})};
}

}  // namespace autotune
