#include "kernel_templates/skinny_16bit.hpp"

#include <algorithm>

#include "kernel_templates/gemm_template.hpp"
#include "kernel_templates/skinny_launch.hpp"
#include "kernel_templates/template_support.hpp"

namespace autotune {
namespace {

constexpr std::int64_t kWarp = 32;
constexpr std::int64_t kMostFew = 16;  // more is for tensor cores
constexpr std::int64_t kBytes = 2;     // of an element
constexpr std::int64_t kInWord = 2;    // elements

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
  [[nodiscard]] std::int64_t warps() const { return c.at("WARPS") * slices(); }
  [[nodiscard]] std::int64_t threads() const { return kWarp * warps(); }

  // Whether its lanes read what is contiguous along K, or along the many lines.
  [[nodiscard]] bool along_k() const { return lanes_k() >= 8; }
  [[nodiscard]] std::int64_t words_under_way() const { return lines() * unroll(); }
  [[nodiscard]] std::int64_t block_lines() const {
    return c.at("WARPS") * lines() * (kWarp / lanes_k());
  }
  // Elements of K that a warp takes at a time.
  [[nodiscard]] std::int64_t batch() const { return unroll() * kInWord * lanes_k(); }
  [[nodiscard]] std::int64_t tile_bytes() const { return kElementBytes * few() * block_lines(); }
  // Groups of threads that each add some of several blocks' parts of a tile.
  [[nodiscard]] std::int64_t groups() const {
    return std::clamp<std::int64_t>(kElementBytes * threads() / tile_bytes(), 1, 32);
  }
  // Shared memory of a block for a chunk of the few lines, which are some bytes apart.
  [[nodiscard]] std::int64_t chunk_bytes() const {
    constexpr std::int64_t kBetween = 16;
    const std::int64_t step = few() * slices() * batch();
    return kBytes * step * std::max<std::int64_t>(1, 8192 / step) + kBetween * few();
  }
  // An estimate: results, what is under way of both operands, addresses.
  [[nodiscard]] std::int64_t registers() const {
    return 24 + 3 * few() * lines() / 2 + words_under_way() + 5 * few() + 2 * lines();
  }
};

std::vector<TuningParameter> parameters() {
  return {
      {"FEW_SIDE", "the side of C with few lines, 0: rows, 1: columns", {0, 1}},
      {"FEW", "how many of them a block computes", {1, 2, 4, 8, 16}},
      {"LINES", "lines of the other side for one lane", {1, 2, 4, 8}},
      {"LANES_K", "lanes of a warp along K", {1, 4, 8, 32}},
      {"WARPS", "warps of a block along the other side", {1, 2, 4, 8}},
      {"SLICE_K", "warps of a block along K", {1, 2, 4, 8, 16}},
      {"UNROLL", "words along K, of each line, that a thread has under way", {4, 8, 16}},
      {"SPLIT_K", "blocks that split K of one tile", {1, 2, 4, 8, 16}},
  };
}

// What is left are configurations that read whole lines of the cache, with enough words under way
// and enough warps.
std::vector<Constraint> constraints() {
  return {
      constraint_on<Values>(
          "threads", "a block has 64 to 512 threads", {"WARPS", "SLICE_K"},
          [](const Values& v) { return v.threads() >= 64 && v.threads() <= 512; }),
      // With 4 or 8 lanes along K, several lanes are side by side already.
      constraint_on<Values>("warps", "LANES_K of 4 or 8 only with WARPS=1", {"LANES_K", "WARPS"},
                            [](const Values& v) {
                              return v.lanes_k() == 1 || v.lanes_k() == kWarp ||
                                     v.c.at("WARPS") == 1;
                            }),
      constraint_on<Values>(
          "lines", "a lane has at most 4 lines with LANES_K from 8 on, otherwise at least 4",
          {"LINES", "LANES_K"},
          [](const Values& v) { return v.along_k() ? v.lines() <= 4 : v.lines() >= 4; }),
      constraint_on<Values>(
          "under_way", "a thread has 8 to 32 words under way", {"LINES", "UNROLL"},
          [](const Values& v) { return v.words_under_way() >= 8 && v.words_under_way() <= 32; }),
      constraint_on<Values>("results", "a lane has at most 32 results, or few lines as they can be",
                            {"FEW", "LINES", "LANES_K"},
                            [](const Values& v) {
                              return v.few() * v.lines() <= 32 ||
                                     v.lines() <= (v.along_k() ? 2 : 4);
                            }),
      constraint_on<Values>(
          "registers", "a block's threads fit the registers of an SM",
          {"FEW", "LINES", "WARPS", "SLICE_K", "UNROLL"},
          [](const Values& v) { return v.threads() * v.registers() <= kRegistersPerSm; }),
      constraint_on<Values>(
          "shared_memory",
          "a block's sums, and what it holds of the few lines, take at most 96 KiB",
          {"FEW", "LINES", "LANES_K", "WARPS", "SLICE_K", "UNROLL"},
          [](const Values& v) {
            return std::max(v.chunk_bytes(), v.slices() * v.tile_bytes()) <= 96 * 1024;
          }),
  };
}

// The sides of a product.
struct Sides {
  bool few_rows;
  std::int64_t few, lines;
  bool along_k;  // the large operand, in memory

  explicit Sides(const GemmProblem& problem)
      : few_rows(problem.m <= problem.n),
        few(std::min(problem.m, problem.n)),
        lines(std::max(problem.m, problem.n)),
        along_k(few_rows ? problem.op_b == Transpose::transposed
                         : problem.op_a == Transpose::none) {}

  // The least value of FEW for all of the few lines, if there is one.
  [[nodiscard]] std::int64_t best_few() const {
    std::int64_t result = 1;
    while (result < std::min(few, kMostFew)) result *= 2;
    return result;
  }
};

LaunchGeometry geometry(const Configuration& configuration, const GemmProblem& problem) {
  const Values v{configuration};
  const bool is_few_along_k =
      v.few_rows() ? problem.op_a == Transpose::none : problem.op_b == Transpose::transposed;
  LaunchGeometry result = skinny_launch(v, problem, ceil_div(problem.k, v.batch()));
  // Few lines that are K-major do not pass through shared memory.
  result.dynamic_shared_bytes =
      std::max({is_few_along_k ? 0 : v.chunk_bytes(), v.slices() * v.tile_bytes(),
                result.workspace_bytes_per_block > 0 ? v.groups() * v.tile_bytes() : 0});
  return result;
}

TileShape tile_shape(const Configuration& configuration) {
  return skinny_tile_shape(Values{configuration});
}

// Warps that read long parts of two lines, four of them side by side along K, had the most of an
// H100's bandwidth. Lanes that are side by side load whole lines of 128 bytes.
Configuration default_configuration(const GemmProblem& problem) {
  const Sides sides(problem);
  const std::int64_t few = sides.best_few();
  const bool is_small = sides.lines <= 512;
  const std::int64_t lines = sides.along_k ? is_small && few <= 8 ? 1 : 2 : few > 4 ? 4 : 8;
  const std::int64_t lanes_k = !sides.along_k ? 4 : problem.k > 256 ? 32 : 8;
  const bool is_long = sides.along_k && (lines == 1 || (few <= 4 && problem.k >= 2048));
  const std::int64_t unroll = is_long ? 8 : 4;
  const std::int64_t batches = ceil_div(problem.k, kInWord * unroll * lanes_k);
  const std::int64_t most_slices = sides.along_k && !is_small ? 4 : 8;
  std::int64_t slices = 2;
  while (slices < most_slices && slices < batches) slices *= 2;
  const std::int64_t tiles =
      ceil_div(sides.lines, lines * (kWarp / lanes_k)) * std::min<std::int64_t>(problem.batch, 256);
  std::int64_t parts = 1;
  while (parts < 16 && parts * tiles < 256 && 4 * parts * slices <= batches) parts *= 2;
  return Configuration({{"FEW_SIDE", sides.few_rows ? 0 : 1},
                        {"FEW", few},
                        {"LINES", lines},
                        {"LANES_K", lanes_k},
                        {"WARPS", 1},
                        {"SLICE_K", slices},
                        {"UNROLL", unroll},
                        {"SPLIT_K", parts}});
}

// Returns whether a configuration may be the fastest: its lanes read what is contiguous in memory,
// every warp has something to do, and blocks share tiles only for lack of these.
bool fits(const Configuration& configuration, const GemmProblem& problem) {
  const Values v{configuration};
  const Sides sides(problem);
  if (v.few_rows() != sides.few_rows || v.few() != sides.best_few()) return false;
  if (v.along_k() != sides.along_k) return false;
  const std::int64_t batches = ceil_div(problem.k, v.batch());
  if (v.slices() > 2 && v.slices() > batches) return false;
  const std::int64_t tiles = ceil_div(sides.lines, v.block_lines()) * problem.batch;
  return v.parts() == 1 || (2 * v.parts() * v.slices() <= batches && v.parts() * tiles <= 1024);
}

// Clock cycles of the busiest SM: it reads its blocks' part of the large operand as fast as what
// is under way allows, and it issues its instructions. The few lines come from the L2 cache.
double cycles(const Configuration& configuration, const TiledLaunch& launch,
              const GemmProblem& problem, const SmLimits& sm, int sm_count) {
  constexpr double kLatency = 1000;      // of a load, in cycles
  constexpr double kBytesPerCycle = 14;  // that an SM has of the memory's bandwidth
  constexpr double kCachedBytesPerCycle = 32;
  constexpr double kBlockCycles = 1500;  // to begin and to add up
  constexpr double kShareCycles = 2500;  // to add up what several blocks have
  constexpr double kVectorBytes = 512;   // of a warp's load
  const Values v{configuration};
  const Sides sides(problem);
  const auto words = static_cast<double>(v.words_under_way());
  const BlockResources block{.threads = v.threads(),
                             .shared_bytes = launch.shared_bytes,
                             .registers_per_thread = v.registers()};
  const std::int64_t resident =
      std::max<std::int64_t>(1, occupancy(block, sm).blocks_per_sm.value_or(1));
  const std::int64_t blocks = launch.geometry.blocks();
  const std::int64_t of_sm = ceil_div(blocks, sm_count);
  const auto at_once = static_cast<double>(std::min(resident, of_sm));
  const double lines = static_cast<double>(v.block_lines());
  const double tiles = static_cast<double>(ceil_div(sides.lines, v.block_lines()) *
                                           ceil_div(sides.few, v.few()) * problem.batch);
  const double k = static_cast<double>(problem.k) * tiles / static_cast<double>(blocks);
  const double bytes = kBytes * lines * k;  // of a block
  const double warps = static_cast<double>(v.warps());
  const double under_way = at_once * warps * words * 4 * static_cast<double>(kWarp);
  const double rate = std::min(kBytesPerCycle, under_way / kLatency);
  const auto few = static_cast<double>(v.few());
  const double instructions = 12 + 8 * few + 10 * few / static_cast<double>(v.lines());
  const double issue = bytes / kVectorBytes * instructions / 4;
  const double cached = kBytes * few * k / kCachedBytesPerCycle;
  const double rounds = static_cast<double>(ceil_div(of_sm, resident));
  const double share = launch.geometry.workspace_bytes_per_block > 0 ? kShareCycles : 0;
  return static_cast<double>(of_sm) * std::max({bytes / rate, issue, cached}) +
         rounds * (kBlockCycles + 40 * warps) + share;
}

}  // namespace

KernelTemplate gemm_skinny16(std::string_view source) {
  KernelTemplate result = kernel_template(
      {.name = "gemm_skinny16",
       .space_version = 1,
       .source = source,
       .space = ConfigSpace(parameters(), constraints()),
       .min_compute_capability = 80,
       .types = is_16_bit,
       .supports =
           [](const GemmProblem& problem) { return std::min(problem.m, problem.n) <= kMostFew; },
       .default_configuration = default_configuration,
       .geometry = geometry,
       .shared_bytes = [](const Configuration&) -> std::int64_t { return 0; },
       .tile_shape = tile_shape,
       .cost_model = cycles,
       .macros =
           [](const GemmProblem&) { return std::vector<std::string>{"KERNEL=gemm_skinny16"}; },
       .first_choice =
           [](const GemmProblem& problem) {
             constexpr std::int64_t kVeryFew = 4;
             return std::min(problem.m, problem.n) <= kVeryFew;
           },
       .launch_parameters = {kSplit}});
  result.fits = [](const Configuration& configuration, const Problem& problem) {
    return fits(configuration, gemm_problem(problem));
  };
  // Some spill a word or two outside of the loop that reads the large operand.
  result.may_spill = true;
  return result;
}

}  // namespace autotune
