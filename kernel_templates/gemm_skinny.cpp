// The description of gemm_skinny.cu, whose comments explain the parameters.
#include <algorithm>
#include <utility>

#include "kernel_templates/cost_model.hpp"
#include "kernel_templates/gemm_template.hpp"
#include "kernel_templates/kernel_template.hpp"
#include "kernel_templates/template_support.hpp"

namespace autotune {

std::vector<KernelTemplate> make_gemm_skinny(std::string_view source);

namespace {

constexpr std::int64_t kWarp = 32;
constexpr std::int64_t kMostFew = 32;
constexpr std::int64_t kMostFew16Bit = 16;  // more is for tensor cores

// Returns whether an operand is K-major in memory: the large one, and the one with few lines.
bool large_along_k(const GemmProblem& problem, bool few_rows) {
  return few_rows ? problem.op_b == Transpose::transposed : problem.op_a == Transpose::none;
}
bool few_along_k(const GemmProblem& problem, bool few_rows) {
  return few_rows ? problem.op_a == Transpose::none : problem.op_b == Transpose::transposed;
}
// Elements of a word of 4 bytes.
std::int64_t in_word(const GemmProblem& problem) {
  return kElementBytes / size_bytes(problem.types.a);
}

// A configuration's values by name. A constraint sees only those of its parameters set.
struct Values {
  const Configuration& c;

  [[nodiscard]] bool few_rows() const { return c.at("FEW_SIDE") == 0; }
  [[nodiscard]] std::int64_t few() const { return c.at("FEW"); }
  [[nodiscard]] std::int64_t lines() const { return c.at("LINES"); }
  [[nodiscard]] std::int64_t unroll() const { return c.at("UNROLL"); }
  [[nodiscard]] std::int64_t slices() const { return c.at("SLICE_K"); }
  [[nodiscard]] std::int64_t lanes_k() const { return c.at("LANES_K"); }
  [[nodiscard]] std::int64_t threads() const { return kWarp * c.at("WARPS") * slices(); }

  [[nodiscard]] std::int64_t block_lines() const {
    return c.at("WARPS") * lines() * (kWarp / lanes_k());
  }
  // Words of 4 bytes along K that a warp takes at a time, in each line.
  [[nodiscard]] std::int64_t batch() const { return unroll() * lanes_k(); }
  [[nodiscard]] std::int64_t tile_bytes() const { return kElementBytes * few() * block_lines(); }
  // Elements of the few lines that shared memory holds, where a word has so many of them.
  [[nodiscard]] std::int64_t chunk(std::int64_t in_a_word) const {
    const std::int64_t step = few() * slices() * batch() * in_a_word;
    return step * std::max<std::int64_t>(1, 8192 / step);
  }
  // Dynamic shared memory of a block: a chunk of the few lines, then the slices' sums.
  [[nodiscard]] std::int64_t shared_bytes() const {
    return std::max(kElementBytes * chunk(1), slices() * tile_bytes());
  }
  // Groups of threads that each add some of several blocks' parts of a tile.
  [[nodiscard]] std::int64_t groups() const {
    return std::clamp<std::int64_t>(kElementBytes * threads() / tile_bytes(), 1, 32);
  }
  // Few lines of 16-bit elements that are K-major in memory do not pass through shared memory;
  // others are some bytes apart.
  [[nodiscard]] std::int64_t shared_bytes(const GemmProblem& problem) const {
    if (is_fp32(problem.types)) return shared_bytes();
    constexpr std::int64_t kBetween = 16;
    const std::int64_t copied = 2 * chunk(2) + kBetween * few();
    return std::max({few_along_k(problem, few_rows()) ? 0 : copied, slices() * tile_bytes(),
                     groups() * tile_bytes()});
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
      {"UNROLL", "words along K that a thread has under way at a time", {4, 8, 16}},
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
  const std::int64_t few = v.few_rows() ? problem.m : problem.n;
  const std::int64_t lines = v.few_rows() ? problem.n : problem.m;
  const std::int64_t tiles = ceil_div(few, v.few()) * ceil_div(lines, v.block_lines());
  const std::int64_t batches = ceil_div(problem.k, v.batch() * in_word(problem));
  // The counters are few; where tiles are many, splitting them gains nothing.
  const std::int64_t wanted = std::min(configuration.at("SPLIT_K"), batches);
  const bool shared = may_share(tiles * wanted, problem.batch, v.tile_bytes());
  const std::int64_t parts = shared ? wanted : 1;
  LaunchGeometry result;
  result.waits_for_launch_before = true;
  result.spread(tiles * parts, problem.batch);
  result.block[0] = v.threads();
  result.dynamic_shared_bytes = v.shared_bytes(problem);
  if (parts > 1) result.workspace_bytes_per_block = v.tile_bytes();
  return result;
}

TileShape tile_shape(const Configuration& configuration) {
  const Values v{configuration};
  const std::int64_t lines = v.block_lines();
  return {.tile_width = 0,
          .results_m = v.few_rows() ? v.few() : v.lines(),
          .results_n = v.few_rows() ? v.lines() : v.few(),
          .unroll = v.unroll(),
          .block_m = v.few_rows() ? v.few() : lines,
          .block_n = v.few_rows() ? lines : v.few(),
          .block_k = v.slices() * v.batch()};
}

// Lanes that are side by side load whole lines of 128 bytes. The work is divided into blocks for a
// large GPU: first along the rows, then along K, as long as each block has a few batches.
Configuration default_of_fp32(const GemmProblem& problem) {
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

// Returns the smallest power of two that is not less, up to the most.
std::int64_t power_of_two(std::int64_t value, std::int64_t most) {
  std::int64_t result = 1;
  while (result < std::min(value, most)) result *= 2;
  return result;
}

// A few lines of one side, as 16-bit configurations divide them.
struct Sides {
  bool few_rows;
  std::int64_t few, lines;  // of the problem
  bool along_k;             // the large operand, in memory

  explicit Sides(const GemmProblem& problem)
      : few_rows(problem.m <= problem.n),
        few(std::min(problem.m, problem.n)),
        lines(std::max(problem.m, problem.n)),
        along_k(large_along_k(problem, few_rows)) {}
};

// Warps that read long parts of two lines, four of them side by side along K, had the most of an
// H100's bandwidth. Lanes that are side by side load whole lines of 128 bytes.
Configuration default_of_16_bit(const GemmProblem& problem) {
  const Sides sides(problem);
  const std::int64_t few = power_of_two(sides.few, kMostFew16Bit);
  const bool is_small = sides.lines <= 512;
  const std::int64_t lines = sides.along_k ? is_small ? 1 : 2 : few > 4 ? 4 : 8;
  const std::int64_t lanes_k = !sides.along_k ? 4 : problem.k > 256 ? 32 : 8;
  const std::int64_t unroll = sides.along_k && few <= 4 && problem.k >= 2048 ? 8 : 4;
  const std::int64_t batches = ceil_div(problem.k, 2 * unroll * lanes_k);
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
                        {"SPLIT_K", parts},
                        {"L2_PERSIST", 0}});
}

Configuration default_configuration(const GemmProblem& problem) {
  return is_fp32(problem.types) ? default_of_fp32(problem) : default_of_16_bit(problem);
}

// Returns whether a configuration may be the fastest. Of the many that FP32 searches, 16-bit
// elements need those that read whole lines, with enough words under way and enough warps.
bool fits(const Configuration& configuration, const GemmProblem& problem) {
  if (is_fp32(problem.types)) return true;
  const Values v{configuration};
  const Sides sides(problem);
  if (configuration.at("L2_PERSIST") != 0 || v.few_rows() != sides.few_rows) return false;
  if (v.few() != power_of_two(sides.few, kMostFew16Bit)) return false;
  const std::int64_t under_way = v.lines() * v.unroll();
  if (under_way < 8 || under_way > 32 || v.threads() > 512) return false;
  if (sides.along_k ? v.lanes_k() < 8 || v.lines() > 4 : v.lanes_k() > 4 || v.lines() < 4) {
    return false;
  }
  if (v.few() * v.lines() > 32) return false;
  // Every slice of every part has something to do, and parts are only for lack of tiles.
  const std::int64_t parts = configuration.at("SPLIT_K");
  const std::int64_t batches = ceil_div(problem.k, v.batch() * in_word(problem));
  const std::int64_t tiles = ceil_div(sides.lines, v.block_lines()) * problem.batch;
  if (v.slices() > 2 && v.slices() > batches) return false;
  return parts == 1 || (parts <= 16 && 2 * parts * v.slices() <= batches && parts * tiles <= 1024);
}

// Clock cycles of the busiest SM: it reads its blocks' part of the large operand as fast as what
// is under way allows, and it issues its instructions. The few lines come from the L2 cache.
double cycles_of_16_bit(const Configuration& configuration, const TiledLaunch& launch,
                        const GemmProblem& problem, const SmLimits& sm, int sm_count) {
  constexpr double kLatency = 1000;      // of a load, in cycles
  constexpr double kBytesPerCycle = 14;  // that an SM has of the memory's bandwidth
  constexpr double kCachedBytesPerCycle = 32;
  constexpr double kBlockCycles = 1500;  // to begin and to add up
  constexpr double kShareCycles = 2500;  // to add up what several blocks have
  constexpr double kVectorBytes = 512;   // of a warp's load
  const Values v{configuration};
  const Sides sides(problem);
  const auto words = static_cast<double>(v.lines() * v.unroll());
  const std::int64_t registers =
      24 + 3 * v.few() * v.lines() / 2 + v.lines() * v.unroll() + 5 * v.few() + 2 * v.lines();
  const BlockResources block{.threads = v.threads(),
                             .shared_bytes = launch.shared_bytes,
                             .registers_per_thread = registers};
  const std::int64_t resident =
      std::max<std::int64_t>(1, occupancy(block, sm).blocks_per_sm.value_or(1));
  const std::int64_t blocks = launch.geometry.blocks();
  const std::int64_t of_sm = ceil_div(blocks, sm_count);
  const auto at_once = static_cast<double>(std::min(resident, of_sm));
  const double lines = static_cast<double>(v.block_lines());
  const double tiles = static_cast<double>(ceil_div(sides.lines, v.block_lines()) *
                                           ceil_div(sides.few, v.few()) * problem.batch);
  const double k = static_cast<double>(problem.k) * tiles / static_cast<double>(blocks);
  const double bytes = 2 * lines * k;  // of a block
  const double warps = static_cast<double>(v.threads() / kWarp);
  const double under_way = at_once * warps * words * 4 * static_cast<double>(kWarp);
  const double rate = std::min(kBytesPerCycle, under_way / kLatency);
  const auto few = static_cast<double>(v.few());
  const double instructions = 12 + 8 * few + 10 * few / static_cast<double>(v.lines());
  const double issue = bytes / kVectorBytes * instructions / 4;
  const double cached = 2 * few * k / kCachedBytesPerCycle;
  const double rounds = static_cast<double>(ceil_div(of_sm, resident));
  const double share = launch.geometry.workspace_bytes_per_block > 0 ? kShareCycles : 0;
  return static_cast<double>(of_sm) * std::max({bytes / rate, issue, cached}) +
         rounds * (kBlockCycles + 40 * warps) + share;
}

double cycles(const Configuration& configuration, const TiledLaunch& launch,
              const GemmProblem& problem, const SmLimits& sm, int sm_count) {
  return is_fp32(problem.types) ? ffma_cycles(launch, problem, sm, sm_count)
                                : cycles_of_16_bit(configuration, launch, problem, sm, sm_count);
}

}  // namespace

std::vector<KernelTemplate> make_gemm_skinny(std::string_view source) {
  KernelTemplate result = kernel_template(
      {.name = "gemm_skinny",
       .space_version = 2,
       .source = source,
       .space = ConfigSpace(parameters(), constraints()),
       .min_compute_capability = 80,
       .types = are_computed,
       .supports =
           [](const GemmProblem& problem) {
             const bool is_full = is_fp32(problem.types);
             return std::min(problem.m, problem.n) <= (is_full ? kMostFew : kMostFew16Bit);
           },
       .default_configuration = default_configuration,
       .geometry = geometry,
       .shared_bytes = [](const Configuration&) -> std::int64_t { return 0; },
       .tile_shape = tile_shape,
       .cost_model = cycles,
       .first_choice =
           [](const GemmProblem& problem) {
             constexpr std::int64_t kVeryFew = 4;
             return std::min(problem.m, problem.n) <= kVeryFew;
           },
       .launch_parameters = {kSplit}});
  result.fits = [](const Configuration& configuration, const Problem& problem) {
    return fits(configuration, gemm_problem(problem));
  };
  return {std::move(result)};
}

}  // namespace autotune
