// The description of gemm_wgmma_skinny.cu, whose comments explain the parameters.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernel_templates/gemm_template.hpp"
#include "kernel_templates/template_support.hpp"

namespace autotune {

std::vector<KernelTemplate> make_gemm_wgmma_skinny(std::string_view source);

namespace {

constexpr std::int64_t kTileK = 64;  // elements of K in a tile, of which a buffer has two
constexpr std::int64_t kStageK = 2 * kTileK;
constexpr std::int64_t kBoxLines = 64;  // of an MN-major operand
constexpr std::int64_t kLeastFew = 8, kMostFew = 128;
constexpr std::int64_t kLeastSplitFew = 16;  // of several tiles
constexpr std::int64_t kLeastStages = 3;

// The lines of one side that are few, and those of the other, the large operand's.
struct Sides {
  bool few_rows;
  std::int64_t few, lines;
  bool few_mn_major, large_mn_major;  // memory has the lines of one k side by side

  explicit Sides(const GemmProblem& problem) : Sides(problem, problem.m <= problem.n) {}
  Sides(const GemmProblem& problem, bool has_few_rows)
      : few_rows(has_few_rows),
        few(has_few_rows ? problem.m : problem.n),
        lines(has_few_rows ? problem.n : problem.m) {
    const bool a_is_mn_major = problem.op_a == Transpose::transposed;
    const bool b_is_mn_major = problem.op_b == Transpose::none;
    few_mn_major = few_rows ? a_is_mn_major : b_is_mn_major;
    large_mn_major = few_rows ? b_is_mn_major : a_is_mn_major;
  }

  // Returns the value of FEW.
  [[nodiscard]] std::int64_t padded() const {
    std::int64_t result = kLeastFew;
    while (result < std::min(few, kMostFew)) result *= 2;
    return result;
  }
};

// A configuration's values by name. A constraint sees only those of its parameters set.
struct Values {
  const Configuration& c;

  [[nodiscard]] bool few_rows() const { return c.at("FEW_SIDE") == 0; }
  [[nodiscard]] std::int64_t few() const { return c.at("FEW"); }
  [[nodiscard]] std::int64_t lines() const { return c.at("LINES"); }
  [[nodiscard]] std::int64_t cluster_k() const { return c.at("CLUSTER_K"); }
  [[nodiscard]] std::int64_t min_blocks() const { return c.at("MIN_BLOCKS"); }

  // Bytes of a buffer. An MN-major operand has whole boxes.
  [[nodiscard]] std::int64_t stage_bytes(bool few_mn_major) const {
    return 2 * kStageK * (lines() + (few_mn_major ? std::max(few(), kBoxLines) : few()));
  }
  // Buffers of a block.
  [[nodiscard]] std::int64_t stages(bool few_mn_major) const {
    return (min_blocks() == 1 ? kSharedPerSm - 1024 : 112 * 1024) / stage_bytes(few_mn_major);
  }
  // Tiles of C along the few lines, and all of them.
  [[nodiscard]] std::int64_t few_tiles(const GemmProblem& problem) const {
    return ceil_div(few_rows() ? problem.m : problem.n, few());
  }
  [[nodiscard]] std::int64_t tiles(const GemmProblem& problem) const {
    return ceil_div(few_rows() ? problem.n : problem.m, lines()) * few_tiles(problem);
  }
};

std::vector<TuningParameter> parameters() {
  return {
      {"FEW_SIDE", "the side of C with few lines, 0: rows, 1: columns", {0, 1}},
      {"FEW", "how many of them a tile has", {8, 16, 32, 64, 128}},
      {"LINES", "lines of the other side in a tile", {64, 128}},
      {"CLUSTER_K", "blocks of a cluster that split K of one tile", {1, 2, 4, 8}},
      {"MIN_BLOCKS", "blocks that an SM has room for", {1, 2}},
  };
}

std::vector<Constraint> constraints() {
  return {
      constraint_on<Values>("shared_memory", "there is room for three buffers",
                            {"FEW", "LINES", "MIN_BLOCKS"},
                            [](const Values& v) { return v.stages(false) >= kLeastStages; }),
  };
}

LaunchGeometry::Box box(bool mn_major, std::int64_t lines) {
  return {mn_major ? kTileK : lines, mn_major ? kBoxLines : kTileK};
}

LaunchGeometry geometry(const Configuration& configuration, const GemmProblem& problem) {
  const Values v{configuration};
  const Sides sides(problem, v.few_rows());
  LaunchGeometry result;
  result.spread(v.tiles(problem) * v.cluster_k(), problem.batch);
  result.blocks_per_cluster = v.cluster_k();
  result.block[0] = 2 * v.lines() + 32;
  result.dynamic_shared_bytes = v.stages(sides.few_mn_major) * v.stage_bytes(sides.few_mn_major);
  result.waits_for_launch_before = true;
  result.tensor_boxes[v.few_rows() ? kGemmA : kGemmB] = box(sides.few_mn_major, v.few());
  result.tensor_boxes[v.few_rows() ? kGemmB : kGemmA] = box(sides.large_mn_major, v.lines());
  result.map_swizzle = 2 * kTileK;
  return result;
}

// Returns whether a configuration may be the fastest. Tiles have all few lines unless there are not
// enough tiles for a device.
bool fits(const Configuration& configuration, const GemmProblem& problem) {
  constexpr std::int64_t kMostBlocks = 256;
  const Values v{configuration};
  const Sides sides(problem);
  const bool has_small_tiles = v.few() < sides.padded();
  if (v.few_rows() != sides.few_rows || v.few() > sides.padded()) return false;
  if (v.cluster_k() > ceil_div(problem.k, kStageK)) return false;
  if (v.stages(sides.few_mn_major) < kLeastStages) return false;
  return !has_small_tiles || (v.few() >= kLeastSplitFew &&
                              v.tiles(problem) * v.cluster_k() <= kMostBlocks / problem.batch);
}

// The large operand is read as fast as the memory allows, or as fast as the SMs that have a part of
// it do. To begin and to add up the parts takes each round of blocks its time.
double cost_model(const Configuration& configuration, const TiledLaunch& launch,
                  const GemmProblem& problem, const SmLimits&, int sm_count) {
  constexpr double kReadPerCycle = 14;    // bytes that an SM has of the memory's bandwidth
  constexpr double kCopiedPerCycle = 45;  // bytes, from the L2 cache
  constexpr double kLatency = 1'500;
  constexpr double kStartCycles = 2'500, kClusterCycles = 1'000;
  constexpr double kFewCycles = 20;  // to add up the sums of one of the few lines
  const Values v{configuration};
  const Sides sides(problem, v.few_rows());
  const auto blocks = static_cast<double>(launch.geometry.blocks());
  const auto parts = static_cast<double>(v.cluster_k());
  const auto k_tiles = std::ceil(static_cast<double>(ceil_div(problem.k, kStageK)) / parts);
  const auto lines = static_cast<double>(v.lines()), few = static_cast<double>(v.few());
  const auto line_bytes = static_cast<double>(2 * kStageK);  // of a k_tile
  const double of_sm = std::ceil(blocks / sm_count);
  const double at_once = std::min(of_sm, static_cast<double>(v.min_blocks()));
  const double under_way =
      at_once * static_cast<double>(v.stages(sides.few_mn_major)) * line_bytes * (lines + few);
  const double read = k_tiles * line_bytes * lines * blocks /
                      static_cast<double>(v.few_tiles(problem)) / sm_count / kReadPerCycle;
  const double copied = k_tiles * line_bytes * (lines + few) * of_sm /
                        std::min(kCopiedPerCycle, under_way / kLatency);
  const double rounds = std::ceil(of_sm / static_cast<double>(v.min_blocks()));
  return std::max(read, copied) +
         rounds * (kStartCycles + (parts > 1 ? kClusterCycles + kFewCycles * few : 0));
}

// As many blocks split K as keep a device busy, and the few lines too if those are not enough.
// Where few lines take little of a buffer, an SM has two blocks, of which one begins or stores
// results while the other reads.
Configuration default_configuration(const GemmProblem& problem) {
  constexpr std::int64_t kEnough = 96;  // blocks
  const Sides sides(problem);
  std::int64_t few = sides.padded(), cluster_k = 1;
  const std::int64_t lines =
      few == kMostFew && ceil_div(sides.lines, 128) * problem.batch >= kEnough ? 128 : 64;
  const auto blocks = [&] {
    return ceil_div(sides.lines, lines) * ceil_div(sides.few, few) * problem.batch * cluster_k;
  };
  while (cluster_k < 8 && blocks() < kEnough && problem.k >= 2 * kStageK * cluster_k) {
    cluster_k *= 2;
  }
  while (few > kLeastSplitFew && blocks() < kEnough) few /= 2;
  const bool has_two = few <= 32 || (few == 64 && blocks() > 132);
  return Configuration({{"FEW_SIDE", sides.few_rows ? 0 : 1},
                        {"FEW", few},
                        {"LINES", lines},
                        {"CLUSTER_K", cluster_k},
                        {"MIN_BLOCKS", has_two ? 2 : 1}});
}

TileShape tile_shape(const Configuration& configuration) {
  const Values v{configuration};
  const std::int64_t few_results = v.few() / 4, results = 2;  // of a thread
  return {.results_m = v.few_rows() ? few_results : results,
          .results_n = v.few_rows() ? results : few_results,
          .unroll = kStageK,
          .block_m = v.few_rows() ? v.few() : v.lines(),
          .block_n = v.few_rows() ? v.lines() : v.few(),
          .block_k = kStageK};
}

}  // namespace

std::vector<KernelTemplate> make_gemm_wgmma_skinny(std::string_view source) {
  KernelTemplate result = kernel_template(
      {.name = "gemm_wgmma_skinny",
       .space_version = 1,
       .source = source,
       .space = ConfigSpace(parameters(), constraints()),
       .min_compute_capability = 90,
       .end_compute_capability = 100,
       .types = is_16_bit,
       .supports =
           [](const GemmProblem& problem) { return std::min(problem.m, problem.n) <= kMostFew; },
       .default_configuration = default_configuration,
       .geometry = geometry,
       .shared_bytes = [](const Configuration&) -> std::int64_t { return 1024; },  // barriers
       .tile_shape = tile_shape,
       .cost_model = cost_model,
       .tensor_products =
           [](const GemmProblem&) {
             return TensorProducts{.input = TensorInput::fp16, .products = 1, .planes = 0};
           },
       .first_choice =
           [](const GemmProblem& problem) {
             const std::int64_t few = std::min(problem.m, problem.n);
             return few > 4 && few <= 64;
           },
       .takes_tensor_maps = true,
       .copying_threads = 32,
       .architecture_specific = true,
       .needs_alignment = true});
  result.fits = [](const Configuration& configuration, const Problem& problem) {
    return fits(configuration, gemm_problem(problem));
  };
  return {std::move(result)};
}

}  // namespace autotune
