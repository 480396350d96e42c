// The description of gemm_simt.cu. Its comments and those of device/tile_parameters.cuh explain the
// parameters.
#include <algorithm>

#include "kernel_templates/default_configurations.hpp"
#include "kernel_templates/register_tile.hpp"

namespace autotune {

std::vector<KernelTemplate> make_gemm_simt(std::string_view source);

namespace {

constexpr int kClusterCapability = 90;

struct Values : RegisterTile {
  using RegisterTile::RegisterTile;

  [[nodiscard]] bool shared_k_major() const { return c.at("SHARED_K_MAJOR") == 1; }
  [[nodiscard]] bool large_thread_tile() const { return results() >= 64; }
  [[nodiscard]] bool small_tile() const { return tile_m() * tile_n() <= 64 * 64; }
  [[nodiscard]] bool medium_tile() const { return tile_m() * tile_n() <= 128 * 128; }

  // Dynamic shared memory of a block. k_major: the operand is so in memory.
  [[nodiscard]] std::int64_t shared_bytes(bool a_k_major, bool b_k_major) const {
    const auto operand = [this](std::int64_t rows, bool k_major) {
      if (k_major && shared_k_major()) return rows * (block_k() + 4);
      return block_k() * (rows + (k_major && rows % 8 == 0 ? 4 : 0));
    };
    return buffer_bytes(operand(tile_m(), a_k_major) + operand(tile_n(), b_k_major));
  }

  // An estimate: results, fragments, addresses.
  [[nodiscard]] std::int64_t registers() const {
    const std::int64_t fragments = 1 + c.at("DOUBLE_BUFFER");
    return results() + fragments * ((shared_k_major() ? 2 : 1) * results_m() + results_n()) + 24;
  }
};

std::vector<TuningParameter> parameters() {
  return {
      tile_parameter("RESULTS_M", {4, 8, 16}),
      tile_parameter("RESULTS_N", {4, 8, 16}),
      tile_parameter("LANES_M", {4, 8}),
      tile_parameter("WARPS_M", {1, 2, 4, 8}),
      tile_parameter("WARPS_N", {1, 2, 4, 8}),
      tile_parameter("SLICE_K", {1, 2, 4, 8}),
      tile_parameter("BLOCK_K", {8, 16, 32, 64}),
      {"SHARED_K_MAJOR",
       "1: shared memory keeps an operand along K as it is, not transposed",
       {0, 1}},
      tile_parameter("UNROLL", {8, 16}),
      tile_parameter("STAGES", {2, 3, 4, 6}),
      {"DOUBLE_BUFFER", "1: elements are read from shared memory one k ahead", {0, 1}},
      tile_parameter("MIN_BLOCKS", {1, 2, 3, 4, 6, 8}),
      tile_parameter("SPLIT_K", {0, 1, 2, 3, 4, 8, 16, 32, 64, 66, 132}),
      tile_parameter("CLUSTER", {1, 2}),
      tile_parameter("ORDER", {0, 1, 2, 3, 4, 5}),
      tile_parameter("REGISTER_LEVEL", {3, 5, 8}),
      tile_parameter("RASTER", {1, 8, 16}),
      {"STAGE_EPILOGUE",
       "1: lanes exchange results first, so that narrow stores are coalesced",
       {0, 1}},
  };
}

// The shapes of tiles.
std::vector<Constraint> tile_constraints() {
  return {
      constraint_on<Values>("thread_tile", "a lane has 16 to 128 results", thread_tile_names(),
                            [](const Values& v) { return v.results() <= 128; }),
      warp_tile_constraint(),
      constraint_on<Values>(
          "block_tile",
          "a block's tile has at most 256 rows and columns and is at most four times as long "
          "as wide, or has 32 rows or columns at most",
          block_tile_names(),
          [](const Values& v) {
            return std::max(v.tile_m(), v.tile_n()) <= 256 &&
                   (std::min(v.tile_m(), v.tile_n()) <= 32 || balanced(v.tile_m(), v.tile_n(), 4));
          }),
      constraint_on<Values>(
          "slices",
          "SLICE_K above 1 only for block tiles of up to 64*64 results, or up to 128*128 with 64 "
          "results a lane or more",
          block_tile_names() + ParameterNames{"SLICE_K"},
          [](const Values& v) {
            return v.slices() == 1 || v.small_tile() || (v.large_thread_tile() && v.medium_tile());
          }),
      constraint_on<Values>(
          "threads",
          "a block has 64 to 256 threads, 512 in slices, and 128 at least for 64 results each",
          block_tile_names() + ParameterNames{"SLICE_K"},
          [](const Values& v) {
            return v.threads() >= (v.large_thread_tile() ? 128 : 64) &&
                   v.threads() <= (v.slices() > 1 ? 512 : 256);
          }),
  };
}

// The k_tiles of a tile and their buffers.
std::vector<Constraint> k_tile_constraints() {
  return {
      constraint_on<Values>(
          "block_k",
          "each slice has at least 4 elements of K in a k_tile, and at most 32, or 16 of 64",
          {"SLICE_K", "BLOCK_K"},
          [](const Values& v) {
            return v.slice_k() >= 4 && (v.block_k() < 64 || v.slice_k() <= 16);
          }),
      constraint_on<Values>(
          "shared_k_major",
          "SHARED_K_MAJOR=1 only for block tiles of up to 64*64 results with 8 elements of K a "
          "slice or more; BLOCK_K=64 only with it",
          block_tile_names() + ParameterNames{"SLICE_K", "BLOCK_K", "SHARED_K_MAJOR"},
          [](const Values& v) {
            if (v.block_k() == 64 && !v.shared_k_major()) return false;
            return !v.shared_k_major() || (v.slice_k() >= 8 && v.small_tile());
          }),
      constraint_on<Values>(
          "unroll",
          "UNROLL=8 where a slice has less than 16 elements of K in a k_tile, 16 where it has 16, "
          "either where it has 32",
          {"SLICE_K", "BLOCK_K", "UNROLL"},
          [](const Values& v) {
            const std::int64_t unroll = v.c.at("UNROLL");
            return v.slice_k() == 32 || unroll == (v.slice_k() < 16 ? 8 : 16);
          }),
      constraint_on<Values>("phases",
                            "STAGES * BLOCK_K is 48 to 96, or up to 128 with SHARED_K_MAJOR",
                            {"BLOCK_K", "SHARED_K_MAJOR", "STAGES"},
                            [](const Values& v) {
                              const std::int64_t held = v.stages() * v.block_k();
                              return held >= 48 && held <= (v.shared_k_major() ? 128 : 96);
                            }),
      constraint_on<Values>(
          "double_buffer", "DOUBLE_BUFFER=0 only with less than 64 results a lane",
          {"RESULTS_M", "RESULTS_N", "DOUBLE_BUFFER"},
          [](const Values& v) { return v.c.at("DOUBLE_BUFFER") == 1 || !v.large_thread_tile(); }),
  };
}

// The resources of an SM.
std::vector<Constraint> sm_constraints() {
  return {
      constraint_on<Values>(
          "shared_memory", "the blocks that MIN_BLOCKS asks for fit an SM's shared memory",
          block_tile_names() + ParameterNames{"SLICE_K", "BLOCK_K", "SHARED_K_MAJOR", "STAGES",
                                              "MIN_BLOCKS", "CLUSTER"},
          [](const Values& v) {
            return v.min_blocks() * (v.shared_bytes(true, true) + 1024) <= kSharedPerSm;
          }),
      constraint_on<Values>(
          "registers", "the blocks that MIN_BLOCKS asks for fit an SM's registers",
          block_tile_names() +
              ParameterNames{"SLICE_K", "SHARED_K_MAJOR", "DOUBLE_BUFFER", "MIN_BLOCKS"},
          [](const Values& v) {
            const std::int64_t of_block = v.threads() * v.registers();
            return v.registers() <= 255 && v.min_blocks() * of_block <= kRegistersPerSm;
          }),
      constraint_on<Values>(
          "warps",
          "an SM has 8 to 16 warps, and 12 at least with less than 64 results a lane; with 16, "
          "SLICE_K=1, BLOCK_K=8 and SPLIT_K=1 up to 32",
          block_tile_names() + ParameterNames{"SLICE_K", "BLOCK_K", "MIN_BLOCKS", "SPLIT_K"},
          [](const Values& v) {
            const std::int64_t threads = v.min_blocks() * v.threads();
            const bool is_short = v.results() == 16 && v.slices() == 1 && v.block_k() == 8;
            return threads >= (v.large_thread_tile() ? 256 : 384) &&
                   threads <= (is_short && v.split_k() == 1 ? 1024 : 512);
          }),
  };
}

// The division of the sums among blocks.
std::vector<Constraint> division_constraints() {
  return {
      constraint_on<Values>(
          "split",
          "SPLIT_K above 3 only for block tiles of up to 64*64 results; larger ones with SLICE_K "
          "above 1 have SPLIT_K=1",
          block_tile_names() + ParameterNames{"SLICE_K", "SPLIT_K"},
          [](const Values& v) {
            if (v.small_tile()) return true;
            return v.slices() > 1 ? v.split_k() == 1 : v.split_k() <= 3;
          }),
      constraint_on<Values>(
          "cluster",
          "CLUSTER above 1 only with SPLIT_K of 32 or more, and with results for each of its parts",
          {"RESULTS_M", "RESULTS_N", "SLICE_K", "SPLIT_K", "CLUSTER"},
          [](const Values& v) {
            if (v.cluster() == 1) return true;
            return v.split_k() >= 32 && v.slices() * v.cluster() <= v.results();
          }),
  };
}

// The order of the blocks, of the multiplications and of the stores.
std::vector<Constraint> order_constraints() {
  return {
      constraint_on<Values>(
          "order",
          "ORDER and REGISTER_LEVEL vary only with 64 results a lane or more and SPLIT_K=1",
          block_tile_names() + ParameterNames{"SPLIT_K", "ORDER", "REGISTER_LEVEL"},
          [](const Values& v) {
            if (v.large_thread_tile() && v.split_k() == 1) return true;
            return v.c.at("ORDER") == 0 && v.c.at("REGISTER_LEVEL") == 5;
          }),
      constraint_on<Values>(
          "raster",
          "RASTER=1 with SPLIT_K above 1; otherwise it varies only with 64 results a lane or more "
          "and SLICE_K=1",
          block_tile_names() + ParameterNames{"SLICE_K", "SPLIT_K", "RASTER"},
          [](const Values& v) {
            const std::int64_t raster = v.c.at("RASTER");
            if (v.split_k() > 1) return raster == 1;
            return raster == 8 || (v.large_thread_tile() && v.slices() == 1);
          }),
      constraint_on<Values>(
          "exchange",
          "STAGE_EPILOGUE=1 only with SPLIT_K=1, RASTER=8, 4 results a lane and slice or more, and "
          "three pairs of ORDER and REGISTER_LEVEL: 0 and 5, 0 and 8, 3 and 8",
          {"RESULTS_M", "RESULTS_N", "SLICE_K", "SPLIT_K", "ORDER", "REGISTER_LEVEL", "RASTER",
           "STAGE_EPILOGUE"},
          [](const Values& v) {
            if (v.c.at("STAGE_EPILOGUE") == 0) return true;
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
  for (const auto& more :
       {k_tile_constraints(), sm_constraints(), division_constraints(), order_constraints()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

LaunchGeometry geometry(const Configuration& configuration, const GemmProblem& problem) {
  const Values values(configuration);
  LaunchGeometry result = register_tile_geometry(values, problem);
  result.dynamic_shared_bytes =
      values.shared_bytes(problem.op_a == Transpose::none, problem.op_b == Transpose::transposed);
  return result;
}

// Rows of C that vectors do not fit are staged in shared memory where the space allows it.
Configuration default_configuration(const DefaultConfigurations& defaults,
                                    const GemmProblem& problem) {
  Configuration result = defaults.at(problem);
  const bool narrow = problem.n % 4 != 0;
  if (narrow && result.at("SPLIT_K") == 1 && result.at("ORDER") == 0)
    result.set("STAGE_EPILOGUE", 1);
  return result;
}

}  // namespace

std::vector<KernelTemplate> make_gemm_simt(std::string_view source) {
  return {kernel_template(
      {.name = "gemm_simt",
       .space_version = 3,
       .source = source,
       .space = ConfigSpace(parameters(), constraints()),
       .min_compute_capability = 80,
       .supports = [](const GemmProblem&) { return true; },
       .default_configuration =
           [defaults = DefaultConfigurations("gemm_simt", parameters())](
               const GemmProblem& problem) { return default_configuration(defaults, problem); },
       .geometry = geometry,
       .shared_bytes = [](const Configuration&) -> std::int64_t { return 0; },
       .tile_shape = register_tile_shape,
       .configuration_capability =
           [](const Configuration& configuration) {
             return configuration.at("CLUSTER") > 1 ? kClusterCapability : 0;
           },
       .options = register_level_option,
       .knows_alignment = true,
       .launch_parameters = {kSplit, kRaster}})};
}

}  // namespace autotune
