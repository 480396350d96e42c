// The description of gemm_fp16x3.cu, whose comments explain the parameters.
#include <algorithm>
#include <cmath>

#include "kernel_templates/even_shares.hpp"
#include "kernel_templates/gemm_template.hpp"
#include "kernel_templates/template_support.hpp"

namespace autotune {

KernelTemplate make_gemm_fp16x3(std::string_view source);

namespace {

constexpr std::int64_t kFloatBytes = 4;
constexpr std::int64_t kPlaneK = 64;
constexpr std::int64_t kRowBytes = 2 * kPlaneK;
constexpr std::int64_t kCopyThreads = 128;
// With fewer products FP32 itself is more accurate.
constexpr std::int64_t kLeastK = 256;
// The planes count elements of a row in 21 bits.
constexpr std::int64_t kMostK = (1 << 21) - 1;

struct Values {
  const Configuration& c;

  [[nodiscard]] std::int64_t tile_m() const { return 64 * warpgroups(); }
  [[nodiscard]] std::int64_t tile_n() const { return c.at("BLOCK_N"); }
  [[nodiscard]] std::int64_t warpgroups() const { return c.at("WARPGROUPS"); }
  [[nodiscard]] std::int64_t cluster() const { return c.at("CLUSTER"); }
  [[nodiscard]] std::int64_t min_blocks() const { return c.at("MIN_BLOCKS"); }
  [[nodiscard]] std::int64_t split_k() const { return c.at("SPLIT_K"); }

  // As many buffers as the blocks of an SM have room for, each with one plane of both operands.
  [[nodiscard]] std::int64_t shared_bytes() const {
    const std::int64_t stage = (tile_m() + tile_n()) * kRowBytes;
    return (kSharedPerSm / 1024 / min_blocks() - 2) * 1024 / stage * stage;
  }
  // Tiles of C along M, whole clusters.
  [[nodiscard]] std::int64_t clusters_m(const GemmProblem& problem) const {
    return ceil_div(problem.m, cluster() * tile_m());
  }
  [[nodiscard]] std::int64_t cluster_tiles(const GemmProblem& problem) const {
    return clusters_m(problem) * ceil_div(problem.n, tile_n());
  }
};

std::int64_t k_tiles(const GemmProblem& problem) {
  return ceil_div(problem.k, kPlaneK);
}

std::vector<TuningParameter> parameters() {
  return {
      {"BLOCK_N", "columns of a block's tile", {64, 128}},
      {"WARPGROUPS", "groups of four warps, with 64 rows of the tile each", {1, 2}},
      {"CLUSTER", "blocks that share the copies of B", {1, 2}},
      {"MIN_BLOCKS", "blocks of an SM at a time, as __launch_bounds__ has them", {1, 2}},
      {"SPLIT_K",
       "clusters that split K of one tile; 0: persistent ones, which take tiles in turn",
       {0, 1, 2, 3, 4, 8}},
      {"RASTER", "tiles along M that run side by side and share B in the L2 cache", {4, 8, 16}},
      {"PREPARE_THREADS", "threads of the blocks that split the operands", {128, 256, 512}},
  };
}

std::vector<Constraint> constraints() {
  return {
      constraint_on<Values>(
          "blocks", "only blocks with 64 rows share an SM", {"WARPGROUPS", "MIN_BLOCKS"},
          [](const Values& v) { return v.min_blocks() == 1 || v.warpgroups() == 1; }),
      constraint_on<Values>(
          "cluster", "only blocks with 128 rows and columns share copies",
          {"BLOCK_N", "WARPGROUPS", "CLUSTER"},
          [](const Values& v) { return v.cluster() == 1 || v.warpgroups() * v.tile_n() == 256; }),
      constraint_on<Values>(
          "raster", "where clusters share every tile, the order is not varied",
          {"SPLIT_K", "RASTER"},
          [](const Values& v) { return v.split_k() <= 1 || v.c.at("RASTER") == 4; }),
  };
}

// The launch and the memory of gemm_fp16x3_prepare (device/split_planes.cuh).
struct Operand {
  std::int64_t rows;  // of op(A), or columns of op(B)
  bool contiguous;    // the elements of a row are so in memory
};

std::int64_t plane_bytes(const Operand& operand, const GemmProblem& problem) {
  return kFloatBytes * ((operand.rows + 511) / 256 * 256) +
         2 * k_tiles(problem) * ceil_div(operand.rows, 8) * 8 * kRowBytes;
}

constexpr std::int64_t kSplitBlocks = 8;

std::int64_t split_blocks(const Operand& operand, std::int64_t k, std::int64_t threads) {
  std::int64_t rows_of_cluster = 32;
  if (operand.contiguous) {
    std::int64_t team = 32;
    while (team < threads && 16 * team < k) team *= 2;
    rows_of_cluster = kSplitBlocks * (threads / team);
  }
  return ceil_div(operand.rows, rows_of_cluster) * kSplitBlocks;
}

LaunchGeometry geometry(const Configuration& configuration, const GemmProblem& problem) {
  const Values v{configuration};
  const Operand a{problem.m, problem.op_a == Transpose::none};
  const Operand b{problem.n, problem.op_b == Transpose::transposed};
  LaunchGeometry result;
  EvenShares{.tiles = v.cluster_tiles(problem),
             .k_tiles = k_tiles(problem),
             .split_k = v.split_k(),
             .cluster = v.cluster(),
             .resident = v.min_blocks(),
             .block_results = v.tile_m() * v.tile_n()}
      .apply_to(result);
  result.block[0] = 128 * v.warpgroups() + kCopyThreads;
  result.dynamic_shared_bytes = v.shared_bytes();
  result.raster = std::min(configuration.at("RASTER"), v.clusters_m(problem));
  result.waits_for_launch_before = true;
  constexpr std::int64_t kSlack = 128 * kRowBytes;
  result.workspace_bytes_shared = plane_bytes(a, problem) + plane_bytes(b, problem) + kSlack;
  // Strips of 32 rows, a part of K of each in shared memory.
  const std::int64_t held = std::min<std::int64_t>(ceil_div(k_tiles(problem), 8) * 64, 1024);
  const std::int64_t floats = 512 + 32 + (a.contiguous && b.contiguous ? 0 : 33 * held);
  const std::int64_t threads = configuration.at("PREPARE_THREADS");
  // Copies of planes read a piece of memory behind them.
  const auto share = [&](const Operand& operand) {
    return LaunchGeometry::Preparation::Share{split_blocks(operand, problem.k, threads),
                                              plane_bytes(operand, problem) + kSlack};
  };
  result.preparation = {.blocks = share(a).blocks + share(b).blocks,
                        .threads = threads,
                        .dynamic_shared_bytes = kFloatBytes * floats,
                        .shares = {share(a), share(b)}};
  return result;
}

// The matrix instructions of the busiest SM, and what each tile and each part of one costs besides.
double predicted_cycles(const Configuration& configuration, const GemmProblem& problem,
                        const SmLimits&, int sm_count) {
  constexpr double kTileCycles = 3'000;
  constexpr double kPartCycles = 4'000;
  constexpr double kIdle = 0.2;  // of the time that one group of warps alone takes
  const Values v{configuration};
  const LaunchGeometry launch = geometry(configuration, problem).on_device(sm_count);
  const auto blocks = static_cast<double>(launch.blocks());
  const auto tiles = static_cast<double>(v.cluster_tiles(problem) * v.cluster());
  const auto slots = static_cast<double>(v.min_blocks() * sm_count);
  const auto groups = static_cast<double>(v.warpgroups() * v.min_blocks());
  const double k_tile =
      6 * static_cast<double>(v.tile_n()) * groups * (1 + kIdle / groups / groups);
  const double tile = static_cast<double>(k_tiles(problem)) * k_tile + kTileCycles;
  const double parts = blocks > tiles ? kPartCycles : 0;
  if (v.split_k() == 0) return tiles / blocks * tile + kTileCycles + kPartCycles;
  return std::ceil(blocks / slots) * (tile * tiles / blocks + kTileCycles + parts);
}

Configuration default_configuration(const GemmProblem& problem) {
  constexpr std::int64_t kSms = 132;
  const std::int64_t tiles = ceil_div(problem.m, 128) * ceil_div(problem.n, 128);
  const bool is_small = 2 * tiles <= kSms / 2;
  const bool is_medium = tiles <= kSms;
  Configuration result;
  result.set("BLOCK_N", is_small ? 64 : 128);
  result.set("WARPGROUPS", is_medium ? 1 : 2);
  result.set("CLUSTER", 1);
  result.set("MIN_BLOCKS", 1);
  result.set("SPLIT_K", is_medium ? 1 : 0);
  result.set("RASTER", is_medium ? 4 : 8);
  result.set("PREPARE_THREADS", problem.k <= 4096 ? 256 : 512);
  return result;
}

bool supports(const GemmProblem& problem) {
  return problem.math != Math::strict && problem.k >= kLeastK && problem.k <= kMostK &&
         problem.batch == 1;
}

}  // namespace

KernelTemplate make_gemm_fp16x3(std::string_view source) {
  return kernel_template(
      {.name = "gemm_fp16x3",
       .space_version = 1,
       .source = source,
       .space = ConfigSpace(parameters(), constraints()),
       .min_compute_capability = 90,
       .end_compute_capability = 100,
       .supports = supports,
       .default_configuration = default_configuration,
       .geometry = geometry,
       .shared_bytes = [](const Configuration&) -> std::int64_t { return 1024; },  // barriers
       .tile_shape =
           [](const Configuration& configuration) {
             const Values v{configuration};
             return TileShape{.results_m = 2,
                              .results_n = v.tile_n() / 4,
                              .unroll = kPlaneK,
                              .block_m = v.tile_m(),
                              .block_n = v.tile_n(),
                              .block_k = kPlaneK};
           },
       .predicted_cycles = predicted_cycles,
       .first_choice =
           [](const GemmProblem& problem) {
             constexpr double kMany = 1e9;
             return problem.math != Math::strict && problem.operations() >= kMany;
           },
       .takes_prepared_operands = true,
       .copying_threads = kCopyThreads,
       .architecture_specific = true,
       .launch_parameters = {{.name = "SPLIT_K", .least = 0},
                             kRaster,
                             {.name = "PREPARE_THREADS", .least = 0}}});
}

}  // namespace autotune
