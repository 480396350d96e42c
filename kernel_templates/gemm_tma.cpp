// The description of gemm_tma.cu. Its comments and those of device/tile_parameters.cuh explain the
// parameters.
#include <algorithm>

#include "kernel_templates/default_configurations.hpp"
#include "kernel_templates/register_tile.hpp"
#include "operation/gemm/gemm.hpp"

namespace autotune {

std::vector<KernelTemplate> make_gemm_tma(std::string_view source);

namespace {

constexpr std::int64_t kBarrierBytes = 8;
constexpr std::int64_t kStagingBytes = 16;  // of a thread
constexpr std::int64_t kCopyThreads = 128;
constexpr std::int64_t kCopyRegisters = 40;  // of such a thread

struct Values : RegisterTile {
  using RegisterTile::RegisterTile;

  // Dynamic shared memory of a block. k_major: the operand is so in memory.
  [[nodiscard]] std::int64_t shared_bytes(bool a_k_major, bool b_k_major) const {
    const auto operand = [this](std::int64_t rows, bool k_major) {
      return block_k() * (rows + (k_major ? 4 : 0));
    };
    return buffer_bytes(operand(tile_m(), a_k_major) + operand(tile_n(), b_k_major)) +
           2 * stages() * kBarrierBytes + (split_k() == kEvenly ? kStagingBytes * threads() : 0);
  }

  // An estimate: results, fragments, addresses.
  [[nodiscard]] std::int64_t registers() const {
    return results() + 2 * (results_m() + results_n()) + 32;
  }
};

std::vector<TuningParameter> parameters() {
  return {
      tile_parameter("RESULTS_M", {8, 16}),
      tile_parameter("RESULTS_N", {8, 16}),
      tile_parameter("LANES_M", {4, 8}),
      tile_parameter("WARPS_M", {1, 2, 4}),
      tile_parameter("WARPS_N", {1, 2, 4}),
      tile_parameter("SLICE_K", {1, 2, 4, 8}),
      tile_parameter("BLOCK_K", {16, 32, 64, 128}),
      tile_parameter("UNROLL", {8, 16}),
      tile_parameter("STAGES", {3, 4, 6, 8}),
      tile_parameter("MIN_BLOCKS", {1, 2, 3}),
      tile_parameter("SPLIT_K", {0, 1, 2, 3, 4, 8, 16, 32, 33, 64, 66, 132}),
      tile_parameter("CLUSTER", {1, 2}),
      tile_parameter("ORDER", {0, 1, 2, 3, 4, 5}),
      tile_parameter("REGISTER_LEVEL", {3, 5, 8}),
      tile_parameter("RASTER", {1, 8}),
  };
}

// The shapes of tiles and k_tiles.
std::vector<Constraint> tile_constraints() {
  return {
      constraint_on<Values>("thread_tile", "a lane has 64 or 128 results", thread_tile_names(),
                            [](const Values& v) { return v.results() <= 128; }),
      warp_tile_constraint(),
      constraint_on<Values>(
          "block_tile",
          "a block's tile has at most 256 rows and columns and is at most four times as long as "
          "wide",
          block_tile_names(),
          [](const Values& v) {
            return std::max(v.tile_m(), v.tile_n()) <= 256 && balanced(v.tile_m(), v.tile_n(), 4);
          }),
      constraint_on<Values>(
          "threads", "128 or 256 threads of a block multiply",
          block_tile_names() + ParameterNames{"SLICE_K"},
          [](const Values& v) { return v.threads() == 128 || v.threads() == 256; }),
      constraint_on<Values>("block_k", "each slice has 8 to 32 elements of K in a k_tile",
                            {"SLICE_K", "BLOCK_K"},
                            [](const Values& v) { return v.slice_k() >= 8 && v.slice_k() <= 32; }),
      constraint_on<Values>("unroll", "UNROLL is 8 where a slice has no more in a k_tile",
                            {"SLICE_K", "BLOCK_K", "UNROLL"},
                            [](const Values& v) { return v.c.at("UNROLL") <= v.slice_k(); }),
      constraint_on<Values>("phases",
                            "STAGES * BLOCK_K is 96 to 256, or up to 384 with BLOCK_K=128",
                            {"BLOCK_K", "STAGES"},
                            [](const Values& v) {
                              const std::int64_t held = v.stages() * v.block_k();
                              return held >= 96 && held <= (v.block_k() < 128 ? 256 : 384);
                            }),
  };
}

// The resources of an SM, and the division of the work among its blocks.
std::vector<Constraint> sm_constraints() {
  return {
      constraint_on<Values>(
          "shared_memory", "the blocks that MIN_BLOCKS asks for fit an SM's shared memory",
          block_tile_names() +
              ParameterNames{"SLICE_K", "BLOCK_K", "STAGES", "MIN_BLOCKS", "SPLIT_K", "CLUSTER"},
          [](const Values& v) {
            return v.min_blocks() * (v.shared_bytes(true, true) + 1024) <= kSharedPerSm;
          }),
      constraint_on<Values>("registers",
                            "the blocks that MIN_BLOCKS asks for fit an SM's registers",
                            block_tile_names() + ParameterNames{"SLICE_K", "MIN_BLOCKS"},
                            [](const Values& v) {
                              const std::int64_t of_block =
                                  v.threads() * v.registers() + kCopyThreads * kCopyRegisters;
                              return v.min_blocks() * of_block <= kRegistersPerSm;
                            }),
      constraint_on<Values>("warps", "an SM has 8 to 16 warps",
                            block_tile_names() + ParameterNames{"SLICE_K", "MIN_BLOCKS"},
                            [](const Values& v) {
                              const std::int64_t threads = v.min_blocks() * v.threads();
                              return threads >= 256 && threads <= 512;
                            }),
      constraint_on<Values>("split",
                            "SPLIT_K=0 only with SLICE_K=1; SPLIT_K above 1 only with RASTER=1 and "
                            "with SLICE_K above "
                            "1 or 64 results a lane",
                            block_tile_names() + ParameterNames{"SLICE_K", "SPLIT_K", "RASTER"},
                            [](const Values& v) {
                              if (v.split_k() == kEvenly) return v.slices() == 1;
                              return v.split_k() == 1 || (v.c.at("RASTER") == 1 &&
                                                          (v.slices() > 1 || v.results() < 128));
                            }),
      constraint_on<Values>("cluster",
                            "CLUSTER above 1 and BLOCK_K=128 only with SPLIT_K of 32 or more",
                            {"BLOCK_K", "SPLIT_K", "CLUSTER"},
                            [](const Values& v) {
                              if (v.split_k() < 32) return v.cluster() == 1 && v.block_k() < 128;
                              return v.split_k() % v.cluster() == 0;
                            }),
      constraint_on<Values>(
          "compiler", "with SPLIT_K above 1, ORDER is 0 or 1 and REGISTER_LEVEL is 5",
          {"SPLIT_K", "ORDER", "REGISTER_LEVEL"},
          [](const Values& v) {
            return v.split_k() <= 1 || (v.c.at("ORDER") <= 1 && v.c.at("REGISTER_LEVEL") == 5);
          }),
  };
}

std::vector<Constraint> constraints() {
  std::vector<Constraint> all = tile_constraints();
  const std::vector<Constraint> more = sm_constraints();
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

LaunchGeometry geometry(const Configuration& configuration, const GemmProblem& problem) {
  const Values values(configuration);
  const bool a_k_major = problem.op_a == Transpose::none;
  const bool b_k_major = problem.op_b == Transpose::transposed;
  LaunchGeometry result = register_tile_geometry(values, problem);
  result.block[0] += kCopyThreads;
  result.dynamic_shared_bytes = values.shared_bytes(a_k_major, b_k_major);
  const bool aligned = rows_are_aligned(problem);
  if (aligned && !a_k_major) result.tensor_boxes[kGemmA] = {values.block_k(), values.tile_m()};
  if (aligned && !b_k_major) result.tensor_boxes[kGemmB] = {values.block_k(), values.tile_n()};
  return result;
}

double results(const GemmProblem& problem) {
  return static_cast<double>(problem.m) * static_cast<double>(problem.n);
}
constexpr double kMany = 1500.0 * 1500;

}  // namespace

std::vector<KernelTemplate> make_gemm_tma(std::string_view source) {
  return {kernel_template(
      {.name = "gemm_tma",
       .space_version = 3,
       .source = source,
       .space = ConfigSpace(parameters(), constraints()),
       .min_compute_capability = 90,
       .end_compute_capability = 120,
       .supports = [](const GemmProblem&) { return true; },
       .default_configuration = [defaults = DefaultConfigurations("gemm_tma", parameters())](
                                    const GemmProblem& problem) { return defaults.at(problem); },
       .geometry = geometry,
       .shared_bytes = [](const Configuration&) -> std::int64_t { return 0; },
       .tile_shape = register_tile_shape,
       .first_choice =
           [](const GemmProblem& problem) {
             return results(problem) >= kMany && std::min(problem.m, problem.n) >= 1024;
           },
       .takes_tensor_maps = true,
       .copying_threads = kCopyThreads,
       .architecture_specific = true,
       .options = register_level_option,
       .knows_alignment = true,
       .launch_parameters = {kSplit, kRaster}})};
}

}  // namespace autotune
