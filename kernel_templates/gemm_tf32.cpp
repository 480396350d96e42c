// The description of gemm_tf32.cu, whose comments explain the parameters.
#include <algorithm>
#include <cmath>

#include "kernel_templates/even_shares.hpp"
#include "kernel_templates/gemm_template.hpp"
#include "kernel_templates/template_support.hpp"
#include "kernel_templates/tf32_products.hpp"

namespace autotune {

std::vector<KernelTemplate> make_gemm_tf32(std::string_view source);

namespace {

constexpr std::int64_t kGapKMajor = 4;  // elements behind each line in shared memory
constexpr std::int64_t kGap = 8;

struct Values {
  const Configuration& c;

  [[nodiscard]] std::int64_t warp_m() const { return c.at("WARP_M"); }
  [[nodiscard]] std::int64_t warp_n() const { return c.at("WARP_N"); }
  [[nodiscard]] std::int64_t warps() const { return c.at("WARPS_M") * c.at("WARPS_N"); }
  [[nodiscard]] std::int64_t tile_m() const { return c.at("WARPS_M") * warp_m(); }
  [[nodiscard]] std::int64_t tile_n() const { return c.at("WARPS_N") * warp_n(); }
  [[nodiscard]] std::int64_t results() const { return warp_m() * warp_n() / 32; }  // of a thread
  [[nodiscard]] std::int64_t block_k() const { return c.at("BLOCK_K"); }
  [[nodiscard]] std::int64_t stages() const { return c.at("STAGES"); }
  [[nodiscard]] std::int64_t min_blocks() const { return c.at("MIN_BLOCKS"); }
  [[nodiscard]] std::int64_t split_k() const { return c.at("SPLIT_K"); }

  [[nodiscard]] std::int64_t shared_bytes(bool a_k_major, bool b_k_major) const {
    const auto operand = [this](std::int64_t rows, bool k_major) {
      return k_major ? rows * (block_k() + kGapKMajor) : block_k() * (rows + kGap);
    };
    return kElementBytes * stages() * (operand(tile_m(), a_k_major) + operand(tile_n(), b_k_major));
  }
  [[nodiscard]] std::int64_t most_shared_bytes() const {
    std::int64_t most = 0;
    for (const bool a : {false, true}) {
      for (const bool b : {false, true}) most = std::max(most, shared_bytes(a, b));
    }
    return most;
  }
  [[nodiscard]] std::int64_t tiles(const GemmProblem& problem) const {
    return ceil_div(problem.m, tile_m()) * ceil_div(problem.n, tile_n());
  }
};

std::vector<TuningParameter> parameters() {
  return {
      {"WARP_M", "rows of a warp's tile", {16, 32, 64}},
      {"WARP_N", "columns of a warp's tile", {32, 64}},
      {"WARPS_M", "warps of a block along M", {1, 2, 4}},
      {"WARPS_N", "warps of a block along N", {1, 2, 4}},
      {"BLOCK_K", "elements of K in a k_tile", {16, 32}},
      {"UNROLL", "unroll factor of the loop over K", {8, 16}},
      {"STAGES", "buffers for k_tiles in shared memory", {2, 3, 4}},
      {"MIN_BLOCKS", "blocks of an SM at a time, as __launch_bounds__ has them", {1, 2, 3}},
      {"SPLIT_K",
       "blocks that split K of one tile; 0: persistent ones, which take tiles in turn",
       {0, 1, 2, 3, 4, 8}},
      {"RASTER", "tiles along M that run side by side and share B in the L2 cache", {4, 16}},
  };
}

std::vector<Constraint> constraints() {
  const ParameterNames warp_tile = {"WARP_M", "WARP_N"};
  const ParameterNames block_tile = warp_tile + ParameterNames{"WARPS_M", "WARPS_N"};
  return {
      constraint_on<Values>(
          "warp_tile", "a warp's tile is at most twice as long as wide, with 64 results a thread",
          warp_tile,
          [](const Values& v) { return balanced(v.warp_m(), v.warp_n(), 2) && v.results() <= 64; }),
      constraint_on<Values>("warps", "a block has 4 or 8 warps", {"WARPS_M", "WARPS_N"},
                            [](const Values& v) { return v.warps() == 4 || v.warps() == 8; }),
      constraint_on<Values>("block_tile", "a block's tile is at most twice as long as wide",
                            block_tile,
                            [](const Values& v) { return balanced(v.tile_m(), v.tile_n(), 2); }),
      constraint_on<Values>(
          "registers", "the blocks that MIN_BLOCKS asks for fit an SM's registers",
          block_tile + ParameterNames{"MIN_BLOCKS"},
          [](const Values& v) {
            const std::int64_t registers = v.results() > 32 ? 240 : v.results() > 16 ? 160 : 128;
            return v.min_blocks() * v.warps() * 32 * registers <= kRegistersPerSm;
          }),
      constraint_on<Values>(
          "unroll",
          "UNROLL=16 only with up to 16 results a thread, or 32 with MIN_BLOCKS of 1 or 2",
          {"WARP_M", "WARP_N", "UNROLL", "MIN_BLOCKS"},
          [](const Values& v) {
            if (v.c.at("UNROLL") == 8 || v.results() <= 16) return true;
            return v.results() <= 32 && v.min_blocks() < 3;
          }),
      constraint_on<Values>(
          "shared_memory", "the blocks that MIN_BLOCKS asks for fit an SM's shared memory",
          block_tile + ParameterNames{"BLOCK_K", "STAGES", "MIN_BLOCKS"},
          [](const Values& v) {
            return v.min_blocks() * (v.most_shared_bytes() + 1024) <= kSharedPerSm;
          }),
      constraint_on<Values>(
          "raster", "with SPLIT_K above 1, RASTER is 4", {"SPLIT_K", "RASTER"},
          [](const Values& v) { return v.split_k() <= 1 || v.c.at("RASTER") == 4; }),
  };
}

LaunchGeometry geometry(const Configuration& configuration, const GemmProblem& problem) {
  const Values v{configuration};
  LaunchGeometry result;
  EvenShares{.tiles = v.tiles(problem),
             .k_tiles = ceil_div(problem.k, v.block_k()),
             .split_k = v.split_k(),
             .cluster = 1,
             .resident = v.min_blocks(),
             .block_results = v.tile_m() * v.tile_n(),
             .sums = problem.types.accumulate}
      .apply_to(result);
  result.block[0] = 32 * v.warps();
  result.dynamic_shared_bytes =
      v.shared_bytes(problem.op_a == Transpose::none, problem.op_b == Transpose::transposed);
  result.raster = std::min(configuration.at("RASTER"), ceil_div(problem.m, v.tile_m()));
  result.waits_for_launch_before = true;
  return result;
}

// The instructions of the busiest SM, and what each k_tile, tile and part of one costs besides.
// An H200 reached a third of the rate in its datasheet.
double cost_model(const Configuration& configuration, const TiledLaunch& launch,
                  const GemmProblem& problem, const SmLimits& sm, int sm_count) {
  constexpr double kTileCycles = 3'000;
  constexpr double kPartCycles = 4'000;
  constexpr double kKTileCycles = 300;
  constexpr double kIdleWarps = 3;  // that an SM lacks to be busy all the time
  // GeForce and Jetson GPUs have matrix units of a quarter of the rate.
  constexpr std::int64_t kThreadsOfDatacenterSm = 2048;
  const double fmas_per_cycle = sm.threads_per_sm < kThreadsOfDatacenterSm ? 120 : 300;
  const Values v{configuration};
  const auto blocks = static_cast<double>(launch.geometry.blocks());
  const auto tiles = static_cast<double>(v.tiles(problem));
  const auto slots = static_cast<double>(v.min_blocks() * sm_count);
  const double at_once = std::min(static_cast<double>(v.min_blocks()),
                                  std::ceil(blocks / static_cast<double>(sm_count)));
  const double warps = at_once * static_cast<double>(v.warps());
  const double k_tile = std::max(at_once * tf32_products(problem) *
                                     static_cast<double>(v.tile_m() * v.tile_n() * v.block_k()) /
                                     fmas_per_cycle * (1 + kIdleWarps / warps),
                                 kKTileCycles);
  const double tile = static_cast<double>(ceil_div(problem.k, v.block_k())) * k_tile + kTileCycles;
  if (v.split_k() == 0) return tiles / blocks * tile + kTileCycles + kPartCycles;
  const double parts = blocks > tiles ? kPartCycles : 0;
  return std::ceil(blocks / slots) * (tile * tiles / blocks + kTileCycles + parts);
}

Configuration default_configuration(const GemmProblem& problem) {
  constexpr std::int64_t kSms = 132;
  const bool is_large = ceil_div(problem.m, 128) * ceil_div(problem.n, 128) > kSms / 2;
  const std::int64_t tiles = ceil_div(problem.m, 64) * ceil_div(problem.n, 64);
  const bool is_small = 2 * tiles <= kSms && problem.k >= 256;
  Configuration result;
  result.set("WARP_M", is_large ? 64 : 32);
  result.set("WARP_N", 32);
  result.set("WARPS_M", 2);
  result.set("WARPS_N", is_large ? 4 : 2);
  // The shared memory of compute capability 8.6 holds this.
  result.set("BLOCK_K", is_large ? 16 : 32);
  result.set("UNROLL", 8);
  result.set("STAGES", is_large ? 4 : 3);
  result.set("MIN_BLOCKS", is_large ? 1 : 2);
  result.set("SPLIT_K", is_large ? 0 : is_small ? 2 : 1);
  result.set("RASTER", 4);
  return result;
}

}  // namespace

std::vector<KernelTemplate> make_gemm_tf32(std::string_view source) {
  return {kernel_template(
      {.name = "gemm_tf32",
       .space_version = 1,
       .source = source,
       .space = ConfigSpace(parameters(), constraints()),
       .min_compute_capability = 80,
       .supports = supports_tf32_products,
       .default_configuration = default_configuration,
       .geometry = geometry,
       .shared_bytes = [](const Configuration&) -> std::int64_t { return 16; },  // a flag
       .tile_shape =
           [](const Configuration& configuration) {
             const Values v{configuration};
             return TileShape{.results_m = v.warp_m() / 8,
                              .results_n = v.warp_n() / 4,
                              .unroll = configuration.at("UNROLL"),
                              .block_m = v.tile_m(),
                              .block_n = v.tile_n(),
                              .block_k = v.block_k()};
           },
       .cost_model = cost_model,
       .tensor_products = tf32_tensor_products,
       .first_choice =
           [](const GemmProblem& problem) {
             constexpr std::int64_t kSkinny = 32;
             return problem.math == Math::tf32 && std::min(problem.m, problem.n) > kSkinny;
           },
       .knows_alignment = true,
       .launch_parameters = {{.name = "SPLIT_K", .least = 0}, kRaster}})};
}

}  // namespace autotune
