// What the program knows of gemm_simt.cu: see there for what the parameters do.
#include <algorithm>

#include "kernel_templates/gemm_simt_accesses.hpp"
#include "kernel_templates/kernel_template.hpp"
#include "kernel_templates/template_support.hpp"

namespace autotune {

KernelTemplate make_gemm_simt(std::string_view source);

namespace {

constexpr std::int64_t kFloatBytes = 4;
constexpr int kClusterCapability = 90;

// A configuration's values by name. A rule sees only those of its parameters set.
struct Values {
  const Configuration& c;

  [[nodiscard]] std::int64_t thread_m() const { return c.at("THREAD_M"); }
  [[nodiscard]] std::int64_t thread_n() const { return c.at("THREAD_N"); }
  [[nodiscard]] std::int64_t results() const { return thread_m() * thread_n(); }
  [[nodiscard]] std::int64_t lanes_m() const { return c.at("LANES_M"); }
  [[nodiscard]] std::int64_t warp_m() const { return lanes_m() * thread_m(); }
  [[nodiscard]] std::int64_t warp_n() const { return 32 / lanes_m() * thread_n(); }
  [[nodiscard]] std::int64_t tile_m() const { return c.at("WARPS_M") * warp_m(); }
  [[nodiscard]] std::int64_t tile_n() const { return c.at("WARPS_N") * warp_n(); }
  [[nodiscard]] std::int64_t slices() const { return c.at("SLICES"); }
  [[nodiscard]] std::int64_t threads() const {
    return 32 * c.at("WARPS_M") * c.at("WARPS_N") * slices();
  }
  [[nodiscard]] std::int64_t block_k() const { return c.at("BLOCK_K"); }
  [[nodiscard]] bool by_line() const { return c.at("BY_LINE") == 1; }
  [[nodiscard]] std::int64_t slice_k() const { return block_k() / slices(); }
  [[nodiscard]] std::int64_t stages() const { return c.at("STAGES"); }
  [[nodiscard]] std::int64_t min_blocks() const { return c.at("MIN_BLOCKS"); }
  [[nodiscard]] std::int64_t split_k() const { return c.at("SPLIT_K"); }
  [[nodiscard]] std::int64_t cluster() const { return c.at("CLUSTER"); }

  [[nodiscard]] bool large_thread_tile() const { return results() >= 64; }
  [[nodiscard]] bool small_tile() const { return tile_m() * tile_n() <= 64 * 64; }
  [[nodiscard]] bool medium_tile() const { return tile_m() * tile_n() <= 128 * 128; }

  // Of dynamic shared memory. along_k: the operand lies so in memory.
  [[nodiscard]] std::int64_t shared_bytes(bool a_along_k, bool b_along_k) const {
    const auto operand = [this](std::int64_t lines, bool along_k) {
      if (along_k && by_line()) return lines * (block_k() + 4);
      return block_k() * (lines + (along_k && lines % 8 == 0 ? 4 : 0));
    };
    const std::int64_t stage = operand(tile_m(), a_along_k) + operand(tile_n(), b_along_k);
    const std::int64_t exchanged = slices() > 1 ? threads() * results() / 2 : 0;
    return kFloatBytes * std::max(stages() * stage, exchanged) +
           cluster_bytes(cluster(), threads() * results() / slices());
  }

  // An estimate: results, fragments, addresses.
  [[nodiscard]] std::int64_t registers() const {
    const std::int64_t fragments = 1 + c.at("DOUBLE_BUFFER");
    return results() + fragments * ((by_line() ? 2 : 1) * thread_m() + thread_n()) + 24;
  }
};

std::vector<TuningParameter> parameters() {
  return {
      {"THREAD_M", "results of one lane along M", {4, 8, 16}},
      {"THREAD_N", "results of one lane along N", {4, 8, 16}},
      {"LANES_M", "lanes of a warp along M; the others are along N", {4, 8}},
      {"WARPS_M", "warps of a block along M", {1, 2, 4, 8}},
      {"WARPS_N", "warps of a block along N", {1, 2, 4, 8}},
      {"SLICES", "parts of each phase that different warps multiply", {1, 2, 4, 8}},
      {"BLOCK_K", "elements of K in a phase", {8, 16, 32, 64}},
      {"BY_LINE", "1: shared memory keeps an operand along K as it is, not transposed", {0, 1}},
      {"UNROLL", "steps of the inner loop between two branches", {8, 16}},
      {"STAGES", "phases in shared memory", {2, 3, 4, 6}},
      {"DOUBLE_BUFFER", "1: elements are read from shared memory one k ahead", {0, 1}},
      {"MIN_BLOCKS", "blocks of an SM that the compiler leaves registers for", {1, 2, 3, 4, 6}},
      {"SPLIT_K",
       "blocks that share one tile's work; 0: as many as run at once share the last tiles",
       {0, 1, 2, 3, 4, 8, 16, 32, 64, 66, 132}},
      {"CLUSTER", "blocks of these that add up in shared memory", {1, 2}},
      {"ORDER",
       "products of one k by 0: rows, 1: columns; 2 to 5: in pieces of 4 or 2",
       {0, 1, 2, 3, 4, 5}},
      {"REGISTER_LEVEL", "ptxas's register usage level; others are as one of these", {3, 5, 8}},
      {"RASTER", "tiles along M whose blocks run side by side", {1, 8, 16}},
      {"EXCHANGE",
       "1: results that cannot be stored as vectors go to lanes side by side first",
       {0, 1}},
  };
}

ParameterNames warp_names() {
  return {"THREAD_M", "THREAD_N", "LANES_M"};
}
ParameterNames tile_names() {
  return warp_names() + ParameterNames{"WARPS_M", "WARPS_N"};
}

// What a tile must be like.
std::vector<Constraint> tile_constraints() {
  return {
      constraint_on<Values>("thread_tile", "a lane has 16 to 128 results", {"THREAD_M", "THREAD_N"},
                            [](const Values& v) { return v.results() <= 128; }),
      constraint_on<Values>("warp_tile", "a warp's tile is at most twice as long as wide",
                            warp_names(),
                            [](const Values& v) {
                              return balanced(v.lanes_m(), 32 / v.lanes_m(), 2) &&
                                     balanced(v.warp_m(), v.warp_n(), 2);
                            }),
      constraint_on<Values>(
          "block_tile",
          "a block's tile has at most 256 rows and columns and is at most four times as long "
          "as wide, or has 32 rows or columns at most",
          tile_names(),
          [](const Values& v) {
            return std::max(v.tile_m(), v.tile_n()) <= 256 &&
                   (std::min(v.tile_m(), v.tile_n()) <= 32 || balanced(v.tile_m(), v.tile_n(), 4));
          }),
      constraint_on<Values>(
          "slices", "only small tiles are worth slicing, and with large thread tiles medium ones",
          tile_names() + ParameterNames{"SLICES"},
          [](const Values& v) {
            return v.slices() == 1 || v.small_tile() || (v.large_thread_tile() && v.medium_tile());
          }),
      constraint_on<Values>(
          "threads",
          "a block has 64 to 256 threads, 512 in slices, and 128 at least for 64 results each",
          tile_names() + ParameterNames{"SLICES"},
          [](const Values& v) {
            return v.threads() >= (v.large_thread_tile() ? 128 : 64) &&
                   v.threads() <= (v.slices() > 1 ? 512 : 256);
          }),
  };
}

// How a tile's phases go.
std::vector<Constraint> phase_constraints() {
  return {
      constraint_on<Values>(
          "block_k",
          "each slice has at least 4 elements of K in a phase, and at most 32, or 16 of 64",
          {"SLICES", "BLOCK_K"},
          [](const Values& v) {
            return v.slice_k() >= 4 && (v.block_k() < 64 || v.slice_k() <= 16);
          }),
      constraint_on<Values>(
          "by_line",
          "keeping operands by line helps small tiles, and takes 8 elements of K a slice; phases "
          "of 64 are for that alone",
          tile_names() + ParameterNames{"SLICES", "BLOCK_K", "BY_LINE"},
          [](const Values& v) {
            if (v.block_k() == 64 && !v.by_line()) return false;
            return !v.by_line() || (v.slice_k() >= 8 && v.small_tile());
          }),
      constraint_on<Values>("unroll",
                            "UNROLL is 16, or 8 where a slice has no more in a phase or 32",
                            {"SLICES", "BLOCK_K", "UNROLL"},
                            [](const Values& v) {
                              const std::int64_t unroll = v.c.at("UNROLL");
                              return v.slice_k() == 32 || unroll == (v.slice_k() < 16 ? 8 : 16);
                            }),
      constraint_on<Values>(
          "phases", "shared memory holds 48 to 96 elements of K of each line, by line up to 128",
          {"BLOCK_K", "BY_LINE", "STAGES"},
          [](const Values& v) {
            const std::int64_t held = v.stages() * v.block_k();
            return held >= 48 && held <= (v.by_line() ? 128 : 96);
          }),
      constraint_on<Values>(
          "double_buffer", "large thread tiles need their elements one k ahead",
          {"THREAD_M", "THREAD_N", "DOUBLE_BUFFER"},
          [](const Values& v) { return v.c.at("DOUBLE_BUFFER") == 1 || !v.large_thread_tile(); }),
  };
}

// What an SM has room for, and how its blocks share the work.
std::vector<Constraint> sm_constraints() {
  return {
      constraint_on<Values>(
          "shared_memory", "the blocks that MIN_BLOCKS asks for fit an SM's shared memory",
          tile_names() +
              ParameterNames{"SLICES", "BLOCK_K", "BY_LINE", "STAGES", "MIN_BLOCKS", "CLUSTER"},
          [](const Values& v) {
            return v.min_blocks() * (v.shared_bytes(true, true) + 1024) <= kSharedPerSm;
          }),
      constraint_on<Values>(
          "registers", "the blocks that MIN_BLOCKS asks for fit an SM's registers",
          tile_names() + ParameterNames{"SLICES", "BY_LINE", "DOUBLE_BUFFER", "MIN_BLOCKS"},
          [](const Values& v) {
            const std::int64_t of_block = v.threads() * v.registers();
            return v.registers() <= 255 && v.min_blocks() * of_block <= kRegistersPerSm;
          }),
      constraint_on<Values>("warps", "an SM has 8 to 16 warps, with small thread tiles 12 at least",
                            tile_names() + ParameterNames{"SLICES", "MIN_BLOCKS"},
                            [](const Values& v) {
                              const std::int64_t threads = v.min_blocks() * v.threads();
                              return threads >= (v.large_thread_tile() ? 256 : 384) &&
                                     threads <= 512;
                            }),
      constraint_on<Values>(
          "split",
          "tiles that are not small are shared by 3 blocks at most, or evenly by all; in slices "
          "not at all",
          tile_names() + ParameterNames{"SLICES", "SPLIT_K"},
          [](const Values& v) {
            if (v.small_tile()) return true;
            return v.slices() > 1 ? v.split_k() == 1 : v.split_k() <= 3;
          }),
      constraint_on<Values>(
          "cluster", "clusters are for tiles that 32 blocks or more share, each with results left",
          {"THREAD_M", "THREAD_N", "SLICES", "SPLIT_K", "CLUSTER"},
          [](const Values& v) {
            if (v.cluster() == 1) return true;
            return v.split_k() >= 32 && v.slices() * v.cluster() <= v.results();
          }),
      constraint_on<Values>("order",
                            "where FMAs limit, the compiler gets several orders and levels to try",
                            tile_names() + ParameterNames{"SPLIT_K", "ORDER", "REGISTER_LEVEL"},
                            [](const Values& v) {
                              if (v.large_thread_tile() && v.split_k() == 1) return true;
                              return v.c.at("ORDER") == 0 && v.c.at("REGISTER_LEVEL") == 5;
                            }),
      constraint_on<Values>(
          "raster", "the order of tiles matters where each block has a large one of its own",
          tile_names() + ParameterNames{"SLICES", "SPLIT_K", "RASTER"},
          [](const Values& v) {
            const std::int64_t raster = v.c.at("RASTER");
            if (v.split_k() > 1) return raster == 1;
            return raster == 8 || (v.large_thread_tile() && v.slices() == 1);
          }),
      constraint_on<Values>(
          "exchange",
          "results are exchanged four at a time, where a tile has one block, with three of the "
          "choices that the compiler gets",
          {"THREAD_M", "THREAD_N", "SLICES", "SPLIT_K", "ORDER", "REGISTER_LEVEL", "RASTER",
           "EXCHANGE"},
          [](const Values& v) {
            if (v.c.at("EXCHANGE") == 0) return true;
            const std::int64_t order = v.c.at("ORDER");
            const std::int64_t level = v.c.at("REGISTER_LEVEL");
            const bool one_of_three = (order == 0 && level != 3) || (order == 3 && level == 8);
            return one_of_three && v.results() >= 4 * v.slices() && v.split_k() == 1 &&
                   v.c.at("RASTER") == 8;
          }),
  };
}

std::vector<Constraint> constraints() {
  std::vector<Constraint> all = tile_constraints();
  for (const auto& more : {phase_constraints(), sm_constraints()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

std::int64_t tiles(const Values& v, const GemmProblem& problem) {
  return ceil_div(problem.m, v.tile_m()) * ceil_div(problem.n, v.tile_n());
}

LaunchGeometry geometry(const Configuration& configuration, const GemmProblem& problem) {
  const Values v{configuration};
  const std::int64_t all = tiles(v, problem);
  const std::int64_t phases = ceil_div(problem.k, v.block_k());
  // A tile of 132 parts needs 12 counters, its own and one for each group of them, or up to 9 for
  // each block of a cluster; where tiles are so many, nothing is gained by splitting them.
  const std::int64_t most_tiles = kWorkspaceCounters / (16 * v.cluster());
  const std::int64_t bytes = 2 * kFloatBytes * v.tile_m() * v.tile_n();
  const std::int64_t clusters =
      std::max<std::int64_t>(1, std::min(v.split_k(), phases) / v.cluster());
  const bool evenly = v.split_k() == kEvenly;
  const bool shared =
      evenly ? may_share_evenly(phases)
             : clusters > 1 && all <= most_tiles && may_share(all * v.cluster() * clusters, bytes);
  LaunchGeometry result;
  result.waits_for_launch_before = true;
  result.raster = std::min(v.c.at("RASTER"), ceil_div(problem.m, v.tile_m()));
  result.grid[0] = all * v.cluster();
  if (shared && evenly) {
    result.grid[0] = all * phases;
    result.resident_blocks_per_sm = v.min_blocks();
  } else if (shared) {
    result.grid[0] *= clusters;
  }
  result.block[0] = v.threads();
  result.dynamic_shared_bytes =
      v.shared_bytes(problem.op_a == Operation::plain, problem.op_b == Operation::transposed);
  if (shared) result.workspace_bytes_per_block = bytes;
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

// What did well at shapes of its kind on an H200.
const char* default_text(const GemmProblem& problem) {
  const std::int64_t shorter = std::min(problem.m, problem.n);
  const double results = static_cast<double>(problem.m) * static_cast<double>(problem.n);
  constexpr double kSmall = 640.0 * 640;
  constexpr double kMedium = 2000.0 * 2000;
  constexpr std::int64_t kShallow = 1024;
  if (shorter <= 32 && problem.k <= kShallow) {
    return "THREAD_M=4,THREAD_N=4,LANES_M=4,WARPS_M=1,WARPS_N=1,SLICES=4,BLOCK_K=32,BY_LINE=1,"
           "UNROLL=8,STAGES=3,DOUBLE_BUFFER=1,MIN_BLOCKS=3,SPLIT_K=1,CLUSTER=1,ORDER=0,REGISTER_"
           "LEVEL=5,"
           "RASTER=8";
  }
  if (shorter <= 32) {
    return "THREAD_M=4,THREAD_N=4,LANES_M=4,WARPS_M=1,WARPS_N=2,SLICES=1,BLOCK_K=16,BY_LINE=0,"
           "UNROLL=16,STAGES=4,DOUBLE_BUFFER=1,MIN_BLOCKS=6,SPLIT_K=8,CLUSTER=1,ORDER=0,REGISTER_"
           "LEVEL=5,"
           "RASTER=1";
  }
  if (results <= kSmall && problem.k >= 4 * 1024) {
    return "THREAD_M=4,THREAD_N=4,LANES_M=4,WARPS_M=2,WARPS_N=1,SLICES=4,BLOCK_K=32,BY_LINE=1,"
           "UNROLL=8,STAGES=3,DOUBLE_BUFFER=1,MIN_BLOCKS=2,SPLIT_K=32,CLUSTER=1,ORDER=0,REGISTER_"
           "LEVEL=5,"
           "RASTER=1";
  }
  if (results <= kSmall) {
    return "THREAD_M=4,THREAD_N=4,LANES_M=4,WARPS_M=2,WARPS_N=1,SLICES=2,BLOCK_K=32,BY_LINE=1,"
           "UNROLL=16,STAGES=3,DOUBLE_BUFFER=1,MIN_BLOCKS=3,SPLIT_K=1,CLUSTER=1,ORDER=0,REGISTER_"
           "LEVEL=5,"
           "RASTER=8";
  }
  if (results <= kMedium) {
    return "THREAD_M=8,THREAD_N=8,LANES_M=4,WARPS_M=1,WARPS_N=2,SLICES=2,BLOCK_K=32,BY_LINE=0,"
           "UNROLL=16,STAGES=2,DOUBLE_BUFFER=1,MIN_BLOCKS=3,SPLIT_K=1,CLUSTER=1,ORDER=0,REGISTER_"
           "LEVEL=5,"
           "RASTER=8";
  }
  return "THREAD_M=8,THREAD_N=8,LANES_M=4,WARPS_M=2,WARPS_N=2,SLICES=1,BLOCK_K=16,BY_LINE=0,"
         "UNROLL=16,STAGES=3,DOUBLE_BUFFER=1,MIN_BLOCKS=3,SPLIT_K=1,CLUSTER=1,ORDER=1,REGISTER_"
         "LEVEL=5,"
         "RASTER=8";
}

Configuration default_configuration(const GemmProblem& problem) {
  Configuration result = Configuration::parse(default_text(problem) + std::string(",EXCHANGE=0"));
  const bool narrow = problem.n % 4 != 0;
  if (narrow && result.at("SPLIT_K") == 1 && result.at("ORDER") == 0) result.set("EXCHANGE", 1);
  return result;
}

}  // namespace

KernelTemplate make_gemm_simt(std::string_view source) {
  return {.name = "gemm_simt",
          .space_version = 3,
          .source = source,
          .space = ConfigSpace(parameters(), constraints()),
          .min_compute_capability = 80,
          .supports = [](const GemmProblem& problem) { return problem.math == Math::strict; },
          .default_configuration = default_configuration,
          .geometry = geometry,
          .shared_bytes = [](const Configuration&) -> std::int64_t { return 0; },
          .tile_shape = tile_shape,
          .warp_accesses = gemm_simt_accesses,
          .configuration_capability =
              [](const Configuration& configuration) {
                return configuration.at("CLUSTER") > 1 ? kClusterCapability : 0;
              },
          .ptxas_options = register_level_option,
          .knows_alignment = true,
          .launch_parameters = {kSplit, kRaster}};
}

}  // namespace autotune
