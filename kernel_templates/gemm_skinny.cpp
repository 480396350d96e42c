// The description of gemm_skinny.cu, whose comments explain the parameters, for FP32; that of 16-bit
// operands is in skinny_16bit.cpp.
#include <algorithm>

#include "kernel_templates/gemm_template.hpp"
#include "kernel_templates/kernel_template.hpp"
#include "kernel_templates/skinny_16bit.hpp"
#include "kernel_templates/skinny_launch.hpp"
#include "kernel_templates/template_support.hpp"

namespace autotune {

std::vector<KernelTemplate> make_gemm_skinny(std::string_view source);

namespace {

constexpr std::int64_t kWarp = 32;
constexpr std::int64_t kMostFew = 32;

// A configuration's values by name. A constraint sees only those of its parameters set.
struct Values {
  const Configuration& c;

  [[nodiscard]] bool few_rows() const { return c.at("FEW_SIDE") == 0; }
  [[nodiscard]] std::int64_t few() const { return c.at("FEW"); }
  [[nodiscard]] std::int64_t lines() const { return c.at("LINES"); }
  [[nodiscard]] std::int64_t unroll() const { return c.at("UNROLL"); }
  [[nodiscard]] std::int64_t slices() const { return c.at("SLICE_K"); }
  [[nodiscard]] std::int64_t lanes_k() const { return c.at("LANES_K"); }
  [[nodiscard]] std::int64_t parts() const { return c.at("SPLIT_K"); }
  [[nodiscard]] std::int64_t threads() const { return kWarp * c.at("WARPS") * slices(); }

  [[nodiscard]] std::int64_t block_lines() const {
    return c.at("WARPS") * lines() * (kWarp / lanes_k());
  }
  [[nodiscard]] std::int64_t batch() const { return unroll() * lanes_k(); }
  [[nodiscard]] std::int64_t tile_bytes() const { return kElementBytes * few() * block_lines(); }
  // Dynamic shared memory of a block: a chunk of the few rows, then the slices' sums.
  [[nodiscard]] std::int64_t shared_bytes() const {
    const std::int64_t step = few() * slices() * batch();
    const std::int64_t chunk = step * std::max<std::int64_t>(1, 8192 / step);
    return std::max(kElementBytes * chunk, slices() * tile_bytes());
  }
  // An estimate: results, two batches of the large operand, some of the few rows, addresses.
  [[nodiscard]] std::int64_t registers() const {
    return few() * lines() + 2 * unroll() * lines() + 40;
  }
};

std::vector<TuningParameter> parameters() {
  return {
      {"FEW_SIDE", "the side of C with few lines, 0: rows, 1: columns", {0, 1}},
      {"FEW", "how many of them a block computes", {1, 2, 4, 8, 16, 32}},
      {"LINES", "lines of the other side for one lane", {1, 2, 4, 8}},
      {"LANES_K", "lanes of a warp along K", {1, 4, 8, 32}},
      {"WARPS", "warps of a block along the other side", {1, 2, 4, 8}},
      {"SLICE_K", "warps of a block along K", {1, 2, 4, 8, 16, 32}},
      {"UNROLL", "elements of K that a thread has under way at a time", {4, 8, 16}},
      {"SPLIT_K", "blocks that split K of one tile", {1, 2, 4, 8, 16, 32, 64, 128}},
      {"L2_PERSIST", "percent of the large operand to be kept in the L2 cache", {0, 20}},
  };
}

std::vector<Constraint> constraints() {
  return {
      constraint_on<Values>(
          "threads", "a block has 64 to 1024 threads", {"WARPS", "SLICE_K"},
          [](const Values& v) { return v.threads() >= 64 && v.threads() <= 1024; }),
      // With 4 or 8 lanes along K, several lanes are side by side already.
      constraint_on<Values>("warps", "LANES_K of 4 or 8 only with WARPS=1", {"LANES_K", "WARPS"},
                            [](const Values& v) {
                              return v.lanes_k() == 1 || v.lanes_k() == kWarp ||
                                     v.c.at("WARPS") == 1;
                            }),
      constraint_on<Values>(
          "l2_persist",
          "L2_PERSIST above 0 only with FEW of up to 4: then the large operand is read "
          "once and limits the time",
          {"FEW", "L2_PERSIST"},
          [](const Values& v) { return v.few() <= 4 || v.c.at("L2_PERSIST") == 0; }),
      constraint_on<Values>(
          "registers", "a block's threads fit the registers of an SM, at most 200 each",
          {"FEW", "LINES", "WARPS", "SLICE_K", "UNROLL"},
          [](const Values& v) {
            return v.registers() <= 200 && v.threads() * v.registers() <= 64 * 1024;
          }),
      constraint_on<Values>(
          "shared_memory",
          "a block's sums, and what it holds of the few lines, take at most 96 KiB",
          {"FEW", "LINES", "LANES_K", "WARPS", "SLICE_K", "UNROLL"},
          [](const Values& v) { return v.shared_bytes() <= 96 * 1024; }),
  };
}

LaunchGeometry geometry(const Configuration& configuration, const GemmProblem& problem) {
  const Values v{configuration};
  LaunchGeometry result = skinny_launch(v, problem, ceil_div(problem.k, v.batch()));
  result.dynamic_shared_bytes = v.shared_bytes();
  return result;
}

TileShape tile_shape(const Configuration& configuration) {
  return skinny_tile_shape(Values{configuration});
}

// Returns whether the large operand is K-major in memory.
bool large_along_k(const GemmProblem& problem, bool few_rows) {
  return few_rows ? problem.op_b == Transpose::transposed : problem.op_a == Transpose::none;
}

// Lanes that are side by side load whole lines of 128 bytes. The work is divided into blocks for a
// large GPU: first along the rows, then along K, as long as each block has a few batches.
Configuration default_configuration(const GemmProblem& problem) {
  const bool few_rows = problem.m <= problem.n;
  std::int64_t few = 1;
  while (few < std::min({problem.m, problem.n, kMostFew})) few *= 2;
  const bool along_k = large_along_k(problem, few_rows);
  const std::int64_t lines = few > 16 ? 2 : 4;
  const std::int64_t lanes_k = along_k ? 32 : 4;
  const std::int64_t unroll = few > 8 || along_k ? 4 : 8;
  const std::int64_t batches = ceil_div(problem.k, unroll * lanes_k);
  const std::int64_t most_slices = few > 16             ? 4
                                   : few > 4 || along_k ? 8
                                                        : 16;  // what shared memory allows
  std::int64_t slices = 2;
  while (slices < most_slices && 4 * slices <= batches) slices *= 2;
  const std::int64_t tiles = ceil_div(std::max(problem.m, problem.n), lines * (kWarp / lanes_k)) *
                             std::min<std::int64_t>(problem.batch, 96);
  std::int64_t parts = 1;
  while (parts < 128 && parts * tiles < 96 && 4 * parts * slices <= batches) parts *= 2;
  return Configuration({{"FEW_SIDE", few_rows ? 0 : 1},
                        {"FEW", few},
                        {"LINES", lines},
                        {"LANES_K", lanes_k},
                        {"WARPS", 1},
                        {"SLICE_K", slices},
                        {"UNROLL", unroll},
                        {"SPLIT_K", parts},
                        {"L2_PERSIST", 0}});
}

}  // namespace

std::vector<KernelTemplate> make_gemm_skinny(std::string_view source) {
  return {kernel_template({.name = "gemm_skinny",
                           .space_version = 2,
                           .source = source,
                           .space = ConfigSpace(parameters(), constraints()),
                           .min_compute_capability = 80,
                           .supports =
                               [](const GemmProblem& problem) {
                                 return std::min(problem.m, problem.n) <= kMostFew;
                               },
                           .default_configuration = default_configuration,
                           .geometry = geometry,
                           .shared_bytes = [](const Configuration&) -> std::int64_t { return 0; },
                           .tile_shape = tile_shape,
                           .first_choice =
                               [](const GemmProblem& problem) {
                                 constexpr std::int64_t kVeryFew = 4;
                                 return std::min(problem.m, problem.n) <= kVeryFew;
                               },
                           .launch_parameters = {kSplit}}),
          gemm_skinny16(source)};
}

}  // namespace autotune
