// What the program knows of gemm_tma.cu: see there for what the parameters do.
#include <algorithm>

#include "kernel_templates/kernel_template.hpp"
#include "kernel_templates/template_support.hpp"

namespace autotune {

KernelTemplate make_gemm_tma(std::string_view source);

namespace {

constexpr std::int64_t kFloatBytes = 4;
constexpr std::int64_t kBarrierBytes = 8;
constexpr std::int64_t kExchangedBytes = 16;  // of a thread
constexpr std::int64_t kCopyThreads = 128;
constexpr std::int64_t kCopyRegisters = 40;  // of such a thread

// A configuration's values by name. A rule sees only those of its parameters set.
struct Values {
  const Configuration& c;

  [[nodiscard]] std::int64_t thread_m() const { return c.at("THREAD_M"); }
  [[nodiscard]] std::int64_t thread_n() const { return c.at("THREAD_N"); }
  [[nodiscard]] std::int64_t results() const { return thread_m() * thread_n(); }
  [[nodiscard]] std::int64_t warp_m() const { return c.at("LANES_M") * thread_m(); }
  [[nodiscard]] std::int64_t warp_n() const { return 32 / c.at("LANES_M") * thread_n(); }
  [[nodiscard]] std::int64_t tile_m() const { return c.at("WARPS_M") * warp_m(); }
  [[nodiscard]] std::int64_t tile_n() const { return c.at("WARPS_N") * warp_n(); }
  [[nodiscard]] std::int64_t slices() const { return c.at("SLICES"); }
  [[nodiscard]] std::int64_t threads() const {
    return 32 * c.at("WARPS_M") * c.at("WARPS_N") * slices();
  }
  [[nodiscard]] std::int64_t block_k() const { return c.at("BLOCK_K"); }
  [[nodiscard]] std::int64_t slice_k() const { return block_k() / slices(); }
  [[nodiscard]] std::int64_t stages() const { return c.at("STAGES"); }
  [[nodiscard]] std::int64_t min_blocks() const { return c.at("MIN_BLOCKS"); }
  [[nodiscard]] std::int64_t split_k() const { return c.at("SPLIT_K"); }
  [[nodiscard]] std::int64_t cluster() const { return c.at("CLUSTER"); }

  // Of dynamic shared memory. along_k: the operand lies so in memory.
  [[nodiscard]] std::int64_t shared_bytes(bool a_along_k, bool b_along_k) const {
    const auto operand = [this](std::int64_t lines, bool along_k) {
      return block_k() * (lines + (along_k ? 4 : 0));
    };
    const std::int64_t stage = operand(tile_m(), a_along_k) + operand(tile_n(), b_along_k);
    const std::int64_t exchanged = slices() > 1 ? threads() * results() / 2 : 0;
    return kFloatBytes * std::max(stages() * stage, exchanged) + 2 * stages() * kBarrierBytes +
           (split_k() == kEvenly ? kExchangedBytes * threads() : 0) +
           cluster_bytes(cluster(), threads() * results() / slices());
  }

  // An estimate: results, fragments, addresses.
  [[nodiscard]] std::int64_t registers() const {
    return results() + 2 * (thread_m() + thread_n()) + 32;
  }
};

std::vector<TuningParameter> parameters() {
  return {
      {"THREAD_M", "results of one lane along M", {8, 16}},
      {"THREAD_N", "results of one lane along N", {8, 16}},
      {"LANES_M", "lanes of a warp along M; the others are along N", {4, 8}},
      {"WARPS_M", "warps of a block along M", {1, 2, 4}},
      {"WARPS_N", "warps of a block along N", {1, 2, 4}},
      {"SLICES", "parts of each phase that different warps multiply", {1, 2, 4, 8}},
      {"BLOCK_K", "elements of K in a phase", {16, 32, 64, 128}},
      {"UNROLL", "steps of the inner loop between two branches", {8, 16}},
      {"STAGES", "phases in shared memory", {3, 4, 6, 8}},
      {"MIN_BLOCKS", "blocks of an SM that the compiler leaves registers for", {1, 2, 3}},
      {"SPLIT_K",
       "blocks that share one tile's work; 0: as many as run at once share the last tiles",
       {0, 1, 2, 3, 4, 8, 16, 32, 33, 64, 66, 132}},
      {"CLUSTER", "blocks of these that add up in shared memory", {1, 2}},
      {"ORDER",
       "products of one k by 0: rows, 1: columns; 2 to 5: in pieces of 4 or 2",
       {0, 1, 2, 3, 4, 5}},
      {"REGISTER_LEVEL", "ptxas's register usage level; others are as one of these", {3, 5, 8}},
      {"RASTER", "tiles along M whose blocks run side by side", {1, 8}},
  };
}

ParameterNames warp_names() {
  return {"THREAD_M", "THREAD_N", "LANES_M"};
}
ParameterNames tile_names() {
  return warp_names() + ParameterNames{"WARPS_M", "WARPS_N"};
}

std::vector<Constraint> constraints() {
  return {
      constraint_on<Values>("thread_tile", "a lane has 64 or 128 results", {"THREAD_M", "THREAD_N"},
                            [](const Values& v) { return v.results() <= 128; }),
      constraint_on<Values>("warp_tile", "a warp's tile is at most twice as long as wide",
                            warp_names(),
                            [](const Values& v) { return balanced(v.warp_m(), v.warp_n(), 2); }),
      constraint_on<Values>(
          "block_tile",
          "a block's tile has at most 256 rows and columns and is at most four times as long as "
          "wide",
          tile_names(),
          [](const Values& v) {
            return std::max(v.tile_m(), v.tile_n()) <= 256 && balanced(v.tile_m(), v.tile_n(), 4);
          }),
      constraint_on<Values>(
          "threads", "128 or 256 threads of a block multiply",
          tile_names() + ParameterNames{"SLICES"},
          [](const Values& v) { return v.threads() == 128 || v.threads() == 256; }),
      constraint_on<Values>("block_k", "each slice has 8 to 32 elements of K in a phase",
                            {"SLICES", "BLOCK_K"},
                            [](const Values& v) { return v.slice_k() >= 8 && v.slice_k() <= 32; }),
      constraint_on<Values>("unroll", "UNROLL is 8 where a slice has no more in a phase",
                            {"SLICES", "BLOCK_K", "UNROLL"},
                            [](const Values& v) { return v.c.at("UNROLL") <= v.slice_k(); }),
      constraint_on<Values>(
          "phases",
          "shared memory holds 96 to 256 elements of K of each line, in phases of 128 up to 384",
          {"BLOCK_K", "STAGES"},
          [](const Values& v) {
            const std::int64_t held = v.stages() * v.block_k();
            return held >= 96 && held <= (v.block_k() < 128 ? 256 : 384);
          }),
      constraint_on<Values>(
          "shared_memory", "the blocks that MIN_BLOCKS asks for fit an SM's shared memory",
          tile_names() +
              ParameterNames{"SLICES", "BLOCK_K", "STAGES", "MIN_BLOCKS", "SPLIT_K", "CLUSTER"},
          [](const Values& v) {
            return v.min_blocks() * (v.shared_bytes(true, true) + 1024) <= kSharedPerSm;
          }),
      constraint_on<Values>("registers",
                            "the blocks that MIN_BLOCKS asks for fit an SM's registers",
                            tile_names() + ParameterNames{"SLICES", "MIN_BLOCKS"},
                            [](const Values& v) {
                              const std::int64_t of_block =
                                  v.threads() * v.registers() + kCopyThreads * kCopyRegisters;
                              return v.min_blocks() * of_block <= kRegistersPerSm;
                            }),
      constraint_on<Values>("warps", "an SM has 8 to 16 warps",
                            tile_names() + ParameterNames{"SLICES", "MIN_BLOCKS"},
                            [](const Values& v) {
                              const std::int64_t threads = v.min_blocks() * v.threads();
                              return threads >= 256 && threads <= 512;
                            }),
      constraint_on<Values>(
          "split",
          "blocks share tiles of slices or 64 results a lane, in one order; evenly those without "
          "slices, in any",
          tile_names() + ParameterNames{"SLICES", "SPLIT_K", "RASTER"},
          [](const Values& v) {
            if (v.split_k() == kEvenly) return v.slices() == 1;
            return v.split_k() == 1 ||
                   (v.c.at("RASTER") == 1 && (v.slices() > 1 || v.results() < 128));
          }),
      constraint_on<Values>(
          "cluster", "clusters, and phases of 128, are for tiles that 32 blocks or more share",
          {"BLOCK_K", "SPLIT_K", "CLUSTER"},
          [](const Values& v) {
            if (v.split_k() < 32) return v.cluster() == 1 && v.block_k() < 128;
            return v.split_k() % v.cluster() == 0;
          }),
      constraint_on<Values>("compiler", "where blocks share tiles, the compiler is not varied",
                            {"SPLIT_K", "ORDER", "REGISTER_LEVEL"},
                            [](const Values& v) {
                              return v.split_k() <= 1 ||
                                     (v.c.at("ORDER") <= 1 && v.c.at("REGISTER_LEVEL") == 5);
                            }),
  };
}

LaunchGeometry geometry(const Configuration& configuration, const GemmProblem& problem) {
  const Values v{configuration};
  const bool a_along_k = problem.op_a == Operation::plain;
  const bool b_along_k = problem.op_b == Operation::transposed;
  const std::int64_t tiles_m = ceil_div(problem.m, v.tile_m());
  const std::int64_t tiles = tiles_m * ceil_div(problem.n, v.tile_n());
  const std::int64_t phases = ceil_div(problem.k, v.block_k());
  const std::int64_t clusters =  // of a tile
      std::max<std::int64_t>(1, std::min(v.split_k(), phases) / v.cluster());
  const std::int64_t blocks = tiles * clusters * v.cluster();
  const std::int64_t bytes = 2 * kFloatBytes * v.tile_m() * v.tile_n();
  const bool evenly = v.split_k() == kEvenly;
  const bool shared = evenly ? may_share_evenly(phases) : clusters > 1 && may_share(blocks, bytes);
  LaunchGeometry result;
  result.waits_for_launch_before = true;
  result.raster = std::min(v.c.at("RASTER"), tiles_m);
  result.grid[0] = shared ? blocks : tiles * v.cluster();
  if (shared && evenly) {
    result.grid[0] = tiles * phases;
    result.resident_blocks_per_sm = v.min_blocks();
  }
  result.block[0] = v.threads() + kCopyThreads;
  result.dynamic_shared_bytes = v.shared_bytes(a_along_k, b_along_k);
  if (shared) result.workspace_bytes_per_block = bytes;
  const bool aligned = unpadded_traits(problem).aligned;
  if (aligned && !a_along_k) result.box_a = {v.block_k(), v.tile_m()};
  if (aligned && !b_along_k) result.box_b = {v.block_k(), v.tile_n()};
  return result;
}

TileShape tile_shape(const Configuration& configuration) {
  const Values v{configuration};
  return {.tile_width = 0,
          .results_m = v.thread_m(),
          .results_n = v.thread_n(),
          .unroll = v.block_k(),
          .block_m = v.tile_m(),
          .block_n = v.tile_n(),
          .block_k = v.block_k()};
}

bool supports(const GemmProblem& problem) {
  return problem.math == Math::strict;
}

double results(const GemmProblem& problem) {
  return static_cast<double>(problem.m) * static_cast<double>(problem.n);
}
constexpr double kMany = 1500.0 * 1500;

// What did well on an H200.
Configuration default_configuration(const GemmProblem& problem) {
  if (results(problem) < kMany) {
    return Configuration::parse(
        "THREAD_M=8,THREAD_N=16,LANES_M=8,WARPS_M=1,WARPS_N=2,SLICES=4,BLOCK_K=64,UNROLL=8,"
        "STAGES=4,MIN_BLOCKS=1,SPLIT_K=1,CLUSTER=1,ORDER=0,REGISTER_LEVEL=8,RASTER=8");
  }
  return Configuration::parse(
      "THREAD_M=8,THREAD_N=16,LANES_M=8,WARPS_M=2,WARPS_N=4,SLICES=1,BLOCK_K=32,UNROLL=8,"
      "STAGES=4,MIN_BLOCKS=1,SPLIT_K=1,CLUSTER=1,ORDER=3,REGISTER_LEVEL=3,RASTER=8");
}

}  // namespace

KernelTemplate make_gemm_tma(std::string_view source) {
  return {.name = "gemm_tma",
          .space_version = 3,
          .source = source,
          .space = ConfigSpace(parameters(), constraints()),
          .min_compute_capability = 90,
          .end_compute_capability = 120,
          .supports = supports,
          .default_configuration = default_configuration,
          .geometry = geometry,
          .shared_bytes = [](const Configuration&) -> std::int64_t { return 0; },
          .tile_shape = tile_shape,
          .warp_accesses = {},
          .first_choice =
              [](const GemmProblem& problem) {
                return results(problem) >= kMany && std::min(problem.m, problem.n) >= 1024;
              },
          .takes_tensor_maps = true,
          .copying_threads = kCopyThreads,
          .architecture_specific = true,
          .ptxas_options = register_level_option,
          .knows_alignment = true,
          .launch_parameters = {kSplit, kRaster}};
}

}  // namespace autotune
