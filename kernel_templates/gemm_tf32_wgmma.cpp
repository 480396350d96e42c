// The description of gemm_tf32_wgmma.cu, whose comments explain the parameters.
#include <algorithm>
#include <cmath>

#include "kernel_templates/even_shares.hpp"
#include "kernel_templates/gemm_template.hpp"
#include "kernel_templates/template_support.hpp"
#include "kernel_templates/tf32_products.hpp"

namespace autotune {

std::vector<KernelTemplate> make_gemm_tf32_wgmma(std::string_view source);

namespace {

constexpr std::int64_t kBlockK = 32;
constexpr std::int64_t kCopyThreads = 128;

struct Values {
  const Configuration& c;

  [[nodiscard]] bool swaps() const { return c.at("SWAP_AB") == 1; }
  [[nodiscard]] std::int64_t warpgroups() const { return c.at("WARPGROUPS"); }
  // The tile's extent along the left operand and along the right one.
  [[nodiscard]] std::int64_t rows() const { return 64 * warpgroups(); }
  [[nodiscard]] std::int64_t columns() const { return c.at("BLOCK_N"); }
  [[nodiscard]] std::int64_t tile_m() const { return swaps() ? columns() : rows(); }
  [[nodiscard]] std::int64_t tile_n() const { return swaps() ? rows() : columns(); }
  [[nodiscard]] std::int64_t cluster_k() const { return c.at("CLUSTER_K"); }
  [[nodiscard]] std::int64_t split_k() const { return c.at("SPLIT_K"); }
  [[nodiscard]] std::int64_t tiles_m(const GemmProblem& problem) const {
    return ceil_div(problem.m, tile_m());
  }
  [[nodiscard]] std::int64_t tiles(const GemmProblem& problem) const {
    return tiles_m(problem) * ceil_div(problem.n, tile_n());
  }

  // Returns the bytes of two buffers for split k_tiles, of up to 8 for copied ones, and of the
  // memory behind them in which threads exchange magnitudes.
  [[nodiscard]] std::int64_t shared_bytes(const GemmProblem& problem) const {
    const bool a_k_major = problem.op_a == Transpose::none;
    const bool b_k_major = problem.op_b == Transpose::transposed;
    const std::int64_t bytes = size_bytes(problem.types.a);  // the same of B and of sums
    const auto copied = [bytes](std::int64_t lines, bool k_major) {
      return bytes * (k_major ? lines * (kBlockK + 4) : kBlockK * (lines + 8));
    };
    const std::int64_t stage = copied(rows(), swaps() ? b_k_major : a_k_major) +
                               copied(columns(), swaps() ? a_k_major : b_k_major);
    const std::int64_t parts = tf32_products(problem) == 1 ? 1 : 2;
    const std::int64_t splits = 2 * parts * columns() * kBlockK * bytes;
    const std::int64_t exchange = bytes * (3 * 128 * warpgroups() + rows() + columns());
    const std::int64_t stages = std::min<std::int64_t>((226 * 1024 - exchange - splits) / stage, 8);
    return splits + stages * stage + exchange;
  }
};

std::vector<TuningParameter> parameters() {
  return {
      {"SWAP_AB", "1: the transposed product, whose left operand is op(B)", {0, 1}},
      {"BLOCK_N", "columns of the right operand in a tile", {64, 128}},
      {"WARPGROUPS", "groups of four warps, with 64 rows of the left operand each", {1, 2}},
      {"CLUSTER_K", "blocks of a cluster that split K of one tile", {1, 2, 4, 8}},
      {"SPLIT_K", "1: a block for each tile; 0: persistent ones, which take tiles in turn", {0, 1}},
      {"RASTER", "tiles along M that run side by side and share B in the L2 cache", {4, 16}},
  };
}

std::vector<Constraint> constraints() {
  return {
      constraint_on<Values>("split", "with CLUSTER_K above 1, SPLIT_K is 1 and RASTER is 4",
                            {"CLUSTER_K", "SPLIT_K", "RASTER"},
                            [](const Values& v) {
                              return v.cluster_k() == 1 ||
                                     (v.split_k() == 1 && v.c.at("RASTER") == 4);
                            }),
  };
}

LaunchGeometry geometry(const Configuration& configuration, const GemmProblem& problem) {
  const Values v{configuration};
  LaunchGeometry result;
  if (v.cluster_k() > 1) {
    result.grid[0] = v.tiles(problem) * v.cluster_k();
    result.blocks_per_cluster = v.cluster_k();
  } else {
    EvenShares{.tiles = v.tiles(problem),
               .k_tiles = ceil_div(problem.k, kBlockK),
               .split_k = v.split_k(),
               .block_results = v.tile_m() * v.tile_n(),
               .sums = problem.types.accumulate}
        .apply_to(result);
  }
  result.block[0] = 128 * v.warpgroups() + kCopyThreads;
  result.dynamic_shared_bytes = v.shared_bytes(problem);
  result.raster = std::min(configuration.at("RASTER"), v.tiles_m(problem));
  result.waits_for_launch_before = true;
  return result;
}

// A k_tile takes the time of its matrix instructions, or of the memory that is read for it; what
// happens between the two comes on top.
double cost_model(const Configuration& configuration, const TiledLaunch& launch,
                  const GemmProblem& problem, const SmLimits&, int sm_count) {
  constexpr double kTileCycles = 3'000;
  constexpr double kPartCycles = 4'000;
  constexpr double kClusterCycles = 2'000;
  constexpr double kIdleCycles = 400;  // of a k_tile, where one group of warps multiplies
  constexpr double kFmasPerCycle = 1024;
  constexpr double kBytesPerCycle = 14;  // that an SM reads
  const Values v{configuration};
  const auto rows = static_cast<double>(v.rows());
  const auto columns = static_cast<double>(v.columns());
  const double multiplying =
      tf32_products(problem) * rows * columns * static_cast<double>(kBlockK) / kFmasPerCycle;
  const double reading = (rows + columns) *
                         static_cast<double>(kBlockK * size_bytes(problem.types.a)) /
                         kBytesPerCycle;
  const double k_tile =
      std::max(multiplying + kIdleCycles / static_cast<double>(v.warpgroups()), reading);
  const auto blocks = static_cast<double>(launch.geometry.blocks());
  const auto tiles = static_cast<double>(v.tiles(problem));
  const double tile = static_cast<double>(ceil_div(problem.k, kBlockK)) * k_tile;
  if (v.split_k() == 0) return tiles / blocks * tile + 2 * kTileCycles + kPartCycles;
  const double parts = v.cluster_k() > 1 ? kClusterCycles : 0;
  return std::ceil(blocks / sm_count) * (tile * tiles / blocks + kTileCycles + parts);
}

// The longer side is the left one; as many blocks split K as there are SMs for.
Configuration default_configuration(const GemmProblem& problem) {
  constexpr std::int64_t kSms = 132;
  const bool swaps = problem.n > problem.m;
  const std::int64_t rows = swaps ? problem.n : problem.m;
  const std::int64_t columns = swaps ? problem.m : problem.n;
  const std::int64_t block_n = columns <= 64 ? 64 : 128;
  const std::int64_t tiles = ceil_div(rows, 128) * ceil_div(columns, block_n);
  std::int64_t cluster_k = 1;
  while (cluster_k < 8 && 2 * cluster_k * tiles <= kSms && problem.k >= 256 * cluster_k) {
    cluster_k *= 2;
  }
  Configuration result;
  result.set("SWAP_AB", swaps ? 1 : 0);
  result.set("BLOCK_N", block_n);
  result.set("WARPGROUPS", 2);
  result.set("CLUSTER_K", cluster_k);
  result.set("SPLIT_K", tiles > kSms ? 0 : 1);
  result.set("RASTER", 4);
  return result;
}

}  // namespace

std::vector<KernelTemplate> make_gemm_tf32_wgmma(std::string_view source) {
  return {kernel_template(
      {.name = "gemm_tf32_wgmma",
       .space_version = 1,
       .source = source,
       .space = ConfigSpace(parameters(), constraints()),
       .min_compute_capability = 90,
       .end_compute_capability = 100,
       .supports = supports_tf32_products,
       .default_configuration = default_configuration,
       .geometry = geometry,
       .shared_bytes = [](const Configuration&) -> std::int64_t { return 1024; },  // barriers
       .tile_shape =
           [](const Configuration& configuration) {
             const Values v{configuration};
             return TileShape{.results_m = v.swaps() ? v.columns() / 4 : 2,
                              .results_n = v.swaps() ? 2 : v.columns() / 4,
                              .unroll = kBlockK,
                              .block_m = v.tile_m(),
                              .block_n = v.tile_n(),
                              .block_k = kBlockK};
           },
       .cost_model = cost_model,
       .tensor_products = tf32_tensor_products,
       .copying_threads = kCopyThreads,
       .architecture_specific = true,
       .knows_alignment = true,
       .launch_parameters = {{.name = "SPLIT_K", .least = 0}, kRaster}})};
}

}  // namespace autotune
