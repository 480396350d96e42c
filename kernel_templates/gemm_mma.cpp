// The description of gemm_mma.cu, whose comments explain the parameters.
#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "kernel_templates/even_shares.hpp"
#include "kernel_templates/gemm_template.hpp"
#include "kernel_templates/template_support.hpp"

namespace autotune {

std::vector<KernelTemplate> make_gemm_mma(std::string_view source);

namespace {

constexpr std::int64_t kBytes = 2;  // of an operand's element

struct Values {
  const Configuration& c;

  [[nodiscard]] std::int64_t tile_m() const { return c.at("BLOCK_M"); }
  [[nodiscard]] std::int64_t tile_n() const { return c.at("BLOCK_N"); }
  [[nodiscard]] std::int64_t tile_results() const { return tile_m() * tile_n(); }
  [[nodiscard]] std::int64_t block_k() const { return c.at("BLOCK_K"); }
  [[nodiscard]] std::int64_t warps() const { return c.at("WARPS"); }
  [[nodiscard]] std::int64_t results() const { return tile_results() / (32 * warps()); }
  [[nodiscard]] std::int64_t stages() const { return c.at("STAGES"); }
  [[nodiscard]] std::int64_t min_blocks() const { return c.at("MIN_BLOCKS"); }
  [[nodiscard]] bool repacks() const { return c.at("REPACK") == 1; }
  [[nodiscard]] std::int64_t split_k() const { return c.at("SPLIT_K"); }

  // Returns the bytes of all buffers. Behind each operand's tile a buffer has a word for each line,
  // of which there are as many as rows or elements of K.
  [[nodiscard]] std::int64_t shared_bytes() const {
    constexpr std::int64_t kWordBytes = 4;
    const std::int64_t tiles = kBytes * (tile_m() + tile_n()) * block_k();
    const std::int64_t lines = std::max(tile_m(), block_k()) + std::max(tile_n(), block_k());
    return stages() * (tiles + kWordBytes * lines);
  }
  [[nodiscard]] std::int64_t tiles(const GemmProblem& problem) const {
    return ceil_div(problem.m, tile_m()) * ceil_div(problem.n, tile_n()) * problem.batch;
  }
};

std::vector<TuningParameter> parameters() {
  return {
      {"BLOCK_M", "rows of a block's tile", {32, 64, 128, 256}},
      {"BLOCK_N", "columns of a block's tile", {32, 64, 128, 256}},
      {"WARPS", "warps of a block", {4, 8}},
      {"BLOCK_K", "elements of K in a k_tile", {32, 64}},
      {"STAGES", "buffers for k_tiles in shared memory", {3, 4, 6}},
      {"MIN_BLOCKS", "blocks of an SM at a time, as __launch_bounds__ has them", {1, 2, 3, 4}},
      {"SPLIT_K",
       "blocks that split K of one tile; 0: persistent ones, which take tiles in turn",
       {0, 1, 2, 4, 8, 16}},
      {"REPACK", "1: operands whose lines begin anywhere are first copied to aligned ones", {0, 1}},
      {"RASTER", "tiles along M that run side by side and share B in the L2 cache", {4, 16}},
  };
}

std::vector<Constraint> constraints() {
  const ParameterNames tile = {"BLOCK_M", "BLOCK_N"};
  const ParameterNames warps = tile + ParameterNames{"WARPS"};
  return {
      constraint_on<Values>(
          "block_tile",
          "a block's tile has at least 32 x 64 results and is at most four times as long as wide",
          tile,
          [](const Values& v) {
            return v.tile_results() >= 2048 && balanced(v.tile_m(), v.tile_n(), 4);
          }),
      constraint_on<Values>(
          "warps",
          "a thread has at most 128 results, and tiles with 256 rows or columns, or no others but "
          "128 x 128, have 8 warps",
          warps,
          [](const Values& v) {
            const std::int64_t longer = std::max(v.tile_m(), v.tile_n());
            if (v.results() > 128) return false;
            if (v.tile_m() == 128 && v.tile_n() == 128) return true;
            return v.warps() == (longer == 256 ? 8 : 4);
          }),
      constraint_on<Values>("phases", "STAGES is 4 or 6 with BLOCK_K=32, 3 or 4 with BLOCK_K=64",
                            {"BLOCK_K", "STAGES"},
                            [](const Values& v) {
                              return v.stages() == 4 || v.stages() == (v.block_k() == 32 ? 6 : 3);
                            }),
      constraint_on<Values>(
          "registers",
          "MIN_BLOCKS is as many blocks as fit an SM's registers, at most 4, or one less with 64 "
          "results a thread and 4 warps",
          warps + ParameterNames{"MIN_BLOCKS"},
          [](const Values& v) {
            const std::int64_t registers = v.results() > 64 ? 255 : v.results() > 32 ? 168 : 128;
            const std::int64_t fitting =
                std::min<std::int64_t>(kRegistersPerSm / (32 * v.warps() * registers), 4);
            return v.min_blocks() == fitting || (fitting == 3 && v.min_blocks() == 2);
          }),
      constraint_on<Values>("shared_memory",
                            "the blocks that MIN_BLOCKS asks for fit an SM's shared memory",
                            tile + ParameterNames{"BLOCK_K", "STAGES", "MIN_BLOCKS"},
                            [](const Values& v) {
                              return v.min_blocks() * (v.shared_bytes() + 1024) <= kSharedPerSm;
                            }),
      constraint_on<Values>(
          "repack", "REPACK=1 only with tiles of at least 64 x 64 results and SPLIT_K of 0 or 1",
          tile + ParameterNames{"SPLIT_K", "REPACK"},
          [](const Values& v) {
            return !v.repacks() || (v.tile_results() >= 64 * 64 && v.split_k() <= 1);
          }),
      constraint_on<Values>("split",
                            "tiles of more than 128 x 128 results have SPLIT_K of 0 or 1; with "
                            "SPLIT_K above 1, RASTER is 4",
                            tile + ParameterNames{"SPLIT_K", "RASTER"},
                            [](const Values& v) {
                              if (v.split_k() <= 1) return true;
                              return v.c.at("RASTER") == 4 && v.tile_results() <= 128 * 128;
                            }),
  };
}

// Returns whether lines of operands that nothing pads begin at other addresses than multiples of 16
// bytes.
bool begins_anywhere(const GemmProblem& problem) {
  return (problem.lda() | problem.ldb()) * kBytes % 16 != 0;
}

// Returns the elements of an operand that is copied to lines of whole 64 bytes (device/repack.cuh),
// at most more than any device has memory for.
std::int64_t repacked_elements(std::int64_t lines, std::int64_t length, std::int64_t products) {
  constexpr std::int64_t kMost = std::int64_t{1} << 48;
  const std::int64_t ld = ceil_div(length, 32) * 32;
  if (lines > kMost / ld / products) return kMost;
  return ceil_div(products * lines * ld, 128) * 128;
}

void add_preparation(const GemmProblem& problem, LaunchGeometry& geometry) {
  constexpr std::int64_t kThreads = 256;
  constexpr std::int64_t kChunk = 8;       // elements that a thread copies at a time
  constexpr std::int64_t kMost = 1 << 20;  // blocks
  const auto [m, n, k] = std::tuple(problem.m, problem.n, problem.k);
  const bool a_k_major = problem.op_a == Transpose::none;
  const bool b_k_major = problem.op_b == Transpose::transposed;
  const std::int64_t a = repacked_elements(a_k_major ? m : k, a_k_major ? k : m, problem.batch);
  const std::int64_t b = repacked_elements(b_k_major ? n : k, b_k_major ? k : n, problem.batch);
  geometry.workspace_bytes_shared = kBytes * (a + b);
  geometry.preparation.threads = kThreads;
  geometry.preparation.blocks = std::min(ceil_div(std::max(a, b), kThreads * kChunk), kMost);
}

LaunchGeometry geometry(const Configuration& configuration, const GemmProblem& problem) {
  const Values v{configuration};
  LaunchGeometry result;
  EvenShares{.tiles = v.tiles(problem),
             .k_tiles = ceil_div(problem.k, v.block_k()),
             .split_k = v.split_k(),
             .cluster = 1,
             .resident = v.min_blocks(),
             .block_results = v.tile_results()}
      .apply_to(result);
  result.block[0] = 32 * v.warps();
  result.dynamic_shared_bytes = v.shared_bytes();
  result.raster = std::min(configuration.at("RASTER"), ceil_div(problem.m, v.tile_m()));
  result.waits_for_launch_before = true;
  if (v.repacks()) add_preparation(problem, result);
  return result;
}

// Returns the cycles that the preparation takes.
double preparation_cycles(const LaunchGeometry& geometry, int sm_count) {
  constexpr double kLaunchCycles = 2'500;
  constexpr double kBytesPerCycle = 6;  // that an SM writes, with as many that it reads
  if (geometry.preparation.blocks == 0) return 0;
  return kLaunchCycles +
         static_cast<double>(geometry.workspace_bytes_shared) / sm_count / kBytesPerCycle;
}

// The instructions of the busiest SM, or its accesses of shared memory if these take longer, and
// what each k_tile, tile and part of one costs besides.
double cost_model(const Configuration& configuration, const TiledLaunch& launch,
                  const GemmProblem& problem, const SmLimits& sm, int sm_count) {
  constexpr double kTileCycles = 2'500;
  constexpr double kPartCycles = 3'500;
  constexpr double kKTileCycles = 250;
  constexpr double kIdleWarps = 2;       // that an SM lacks to be busy all the time
  constexpr double kReadsPerCycle = 64;  // elements of fragments from shared memory
  constexpr double kWordsPerCycle = 16;  // that are copied and shifted
  constexpr double kBytesPerCycle = 40;  // from the L2 cache
  // GeForce and Jetson GPUs have matrix units of a quarter of the rate.
  constexpr std::int64_t kThreadsOfDatacenterSm = 2048;
  const double fmas_per_cycle = sm.threads_per_sm < kThreadsOfDatacenterSm ? 400 : 1200;
  const Values v{configuration};
  const auto blocks = static_cast<double>(launch.geometry.blocks());
  const auto tiles = static_cast<double>(v.tiles(problem));
  const auto slots = static_cast<double>(v.min_blocks() * sm_count);
  const double at_once = std::min(static_cast<double>(v.min_blocks()),
                                  std::ceil(blocks / static_cast<double>(sm_count)));
  const double warps = at_once * static_cast<double>(v.warps());
  const auto results = static_cast<double>(v.tile_results());
  const auto block_k = static_cast<double>(v.block_k());
  // A warp's tile is as nearly square as can be.
  const double read = 2 * std::sqrt(results / static_cast<double>(v.warps())) *
                      static_cast<double>(v.warps()) * block_k;
  const double copied = static_cast<double>(v.tile_m() + v.tile_n()) * block_k;
  const double words = !v.repacks() && begins_anywhere(problem) ? copied / 2 : 0;
  const double busy =
      std::max({results * block_k / fmas_per_cycle, read / kReadsPerCycle + words / kWordsPerCycle,
                kBytes * copied / kBytesPerCycle}) *
      at_once * (1 + kIdleWarps / warps);
  const double k_tile = std::max(busy, kKTileCycles * block_k / 32);
  const double tile = static_cast<double>(ceil_div(problem.k, v.block_k())) * k_tile + kTileCycles;
  const double before = preparation_cycles(launch.geometry, sm_count);
  if (v.split_k() == 0) return before + tiles / blocks * tile + kTileCycles + kPartCycles;
  const double parts = blocks > tiles ? kPartCycles : 0;
  return before + std::ceil(blocks / slots) * (tile * tiles / blocks + kTileCycles + parts);
}

// Large tiles where there are many of them, and as many blocks as run at once, which share them.
// Tiles of 64 x 64 or less otherwise, of which a few blocks share K where there are few.
Configuration default_configuration(const GemmProblem& problem) {
  constexpr std::int64_t kMany = 100;
  const auto tiles = [&problem](std::int64_t m, std::int64_t n) {
    return ceil_div(problem.m, m) * ceil_div(problem.n, n) * problem.batch;
  };
  const bool is_large = tiles(128, 128) >= kMany;
  const std::int64_t tile_m = is_large ? 128 : problem.m <= 32 && problem.n > 32 ? 32 : 64;
  const std::int64_t tile_n = is_large ? 128 : problem.n <= 32 && tile_m > 32 ? 32 : 64;
  std::int64_t split_k = 1;
  while (!is_large && split_k < 16 && split_k * tiles(tile_m, tile_n) < kMany &&
         problem.k >= 256 * split_k) {
    split_k *= 2;
  }
  Configuration result;
  result.set("BLOCK_M", tile_m);
  result.set("BLOCK_N", tile_n);
  result.set("WARPS", 4);
  // The shared memory of compute capability 8.6 holds this.
  result.set("BLOCK_K", 32);
  result.set("STAGES", is_large ? 4 : 6);
  result.set("MIN_BLOCKS", is_large ? 2 : 4);
  result.set("SPLIT_K", is_large ? 0 : split_k);
  result.set("REPACK", is_large && begins_anywhere(problem) ? 1 : 0);
  result.set("RASTER", 4);
  return result;
}

}  // namespace

std::vector<KernelTemplate> make_gemm_mma(std::string_view source) {
  KernelTemplate result = kernel_template(
      {.name = "gemm_mma",
       .space_version = 1,
       .source = source,
       .space = ConfigSpace(parameters(), constraints()),
       .min_compute_capability = 80,
       .types = is_16_bit,
       .supports = [](const GemmProblem&) { return true; },
       .default_configuration = default_configuration,
       .geometry = geometry,
       .shared_bytes = [](const Configuration&) -> std::int64_t { return 128; },  // a flag
       .tile_shape =
           [](const Configuration& configuration) {
             const Values v{configuration};
             return TileShape{.results_m = std::max<std::int64_t>(v.results() / 8, 2),
                              .results_n = std::min<std::int64_t>(v.results() / 2, 8),
                              .unroll = v.block_k(),
                              .block_m = v.tile_m(),
                              .block_n = v.tile_n(),
                              .block_k = v.block_k()};
           },
       .cost_model = cost_model,
       .tensor_products =
           [](const GemmProblem&) {
             return TensorProducts{TensorInput::fp16, 1, 0};
           },
       .knows_alignment = true,
       .launch_parameters = {{.name = "SPLIT_K", .least = 0}, kRaster}});
  // Beside 128 sums there are no registers for what a block knows of its work: some words of it are
  // in local memory while k_tiles are multiplied.
  result.may_spill = true;
  result.fits = [](const Configuration& configuration, const Problem& problem) {
    return configuration.at("REPACK") == 0 || begins_anywhere(gemm_problem(problem));
  };
  return {std::move(result)};
}

}  // namespace autotune
