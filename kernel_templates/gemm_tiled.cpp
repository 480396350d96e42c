// The description of gemm_tiled.cu, whose comments explain the parameters.
#include <algorithm>

#include "kernel_templates/gemm_template.hpp"
#include "kernel_templates/kernel_template.hpp"
#include "kernel_templates/template_support.hpp"

namespace autotune {

std::vector<KernelTemplate> make_gemm_tiled(std::string_view source);

namespace {

constexpr std::int64_t kSharedBytesLimit = 48 * 1024;  // static, on every device
constexpr std::int64_t kRegistersPerBlock = 64 * 1024;
constexpr std::int64_t kBanks = 32;

// A configuration's values by name.
struct Values {
  std::int64_t tile_width, results_m, results_n, unroll, a_transposed, padding, vector_width,
      prefetch;

  explicit Values(const Configuration& c)
      : tile_width(c.at("TILE_WIDTH")),
        results_m(c.at("RESULTS_M")),
        results_n(c.at("RESULTS_N")),
        unroll(c.at("UNROLL")),
        a_transposed(c.at("A_TRANSPOSED")),
        padding(c.at("PADDING")),
        vector_width(c.at("VECTOR_WIDTH")),
        prefetch(c.at("PREFETCH")) {}

  [[nodiscard]] std::int64_t results() const { return results_m * results_n; }
  [[nodiscard]] std::int64_t threads() const { return tile_width * tile_width; }
  [[nodiscard]] std::int64_t rows() const { return tile_width * results_m; }
  [[nodiscard]] std::int64_t columns() const { return tile_width * results_n; }
};

// Returns the bytes that padding adds to a tile whose threads have `results` results along its
// side.
std::int64_t padding_bytes(std::int64_t tile_width, std::int64_t results) {
  const std::int64_t space = std::max(kBanks / tile_width, std::min<std::int64_t>(results, 4));
  return tile_width * space * kElementBytes;
}

// Returns the bytes for op(B) = B; the tile of a transposed B is always padded.
std::int64_t shared_bytes(const Configuration& configuration) {
  const Values v(configuration);
  const std::int64_t tiles = (v.rows() + v.columns()) * v.tile_width * kElementBytes;
  return tiles + (v.padding != 0 ? padding_bytes(v.tile_width, v.results_m) : 0);
}

bool fits_shared_memory(const Configuration& configuration) {
  const Values v(configuration);
  return shared_bytes(configuration) + padding_bytes(v.tile_width, v.results_n) <=
         kSharedBytesLimit;
}

std::vector<TuningParameter> parameters() {
  return {
      {"TILE_WIDTH",
       "threads of a block along each side, and elements of K in a k_tile",
       {8, 16, 32}},
      {"RESULTS_M", "results of one thread along M", {1, 2, 4, 8, 16, 32}},
      {"RESULTS_N", "results of one thread along N", {1, 2, 4, 8, 16, 32}},
      {"UNROLL",
       "unroll factor of the inner loop; equal to TILE_WIDTH: unrolled fully",
       {1, 2, 4, 8, 16, 32}},
      {"A_TRANSPOSED", "1: the tile of A is kept transposed in shared memory", {0, 1}},
      {"PADDING", "1: the transposed tile of A is padded against bank conflicts", {0, 1}},
      {"VECTOR_WIDTH", "elements that one global load brings at most", {1, 2, 4}},
      {"PREFETCH", "1: a k_tile's elements are loaded while the one before multiplies", {0, 1}},
  };
}

std::vector<Constraint> constraints() {
  return {
      constraint_on<Values>("results_per_thread", "RESULTS_M * RESULTS_N is at most 32",
                            [](const Values& v) { return v.results() <= 32; }),
      constraint_on<Values>("tile_side", "a block's tile has at most 256 rows and 256 columns",
                            [](const Values& v) { return std::max(v.rows(), v.columns()) <= 256; }),
      constraint_on<Values>(
          "unroll", "UNROLL is at most 8, or TILE_WIDTH",
          [](const Values& v) { return v.unroll <= 8 || v.unroll == v.tile_width; }),
      {"shared_memory", "the tiles fit the 48 KiB of static shared memory", fits_shared_memory},
      constraint_on<Values>(
          "registers", "results, prefetched elements and 40 more fit a thread's registers",
          [](const Values& v) {
            const std::int64_t loaded = v.prefetch * (v.results_m + v.results_n);
            return v.threads() * (v.results() + loaded + 40) <= kRegistersPerBlock;
          }),
      constraint_on<Values>(
          "vector_width",
          "VECTOR_WIDTH is 1 or the widest that a thread can use: 4, or all it loads",
          [](const Values& v) {
            const std::int64_t most = std::max(v.results_m, v.results_n);
            return v.vector_width == 1 || v.vector_width == std::min<std::int64_t>(4, most);
          }),
      constraint_on<Values>("transposed_a",
                            "a transposed tile of A needs several results along M to pay",
                            [](const Values& v) { return v.a_transposed == 0 || v.results_m > 1; }),
      constraint_on<Values>("padding",
                            "only a transposed tile of A has bank conflicts that padding removes",
                            [](const Values& v) { return v.padding == 0 || v.a_transposed == 1; }),
      constraint_on<Values>(
          "prefetch", "only 4 results or more, in a loop unrolled 8 times or more, hide a load",
          [](const Values& v) { return v.prefetch == 0 || (v.results() >= 4 && v.unroll >= 8); }),
  };
}

LaunchGeometry geometry(const Configuration& configuration, const GemmProblem& problem) {
  const Values v(configuration);
  LaunchGeometry result;
  result.spread(ceil_div(problem.m, v.rows()) * ceil_div(problem.n, v.columns()), problem.batch);
  result.block = {v.tile_width, v.tile_width, 1};
  return result;
}

TileShape tile_shape(const Configuration& configuration) {
  const Values v(configuration);
  return {.tile_width = v.tile_width,
          .results_m = v.results_m,
          .results_n = v.results_n,
          .unroll = v.unroll,
          .block_m = v.rows(),
          .block_n = v.columns(),
          .block_k = v.tile_width};
}

// The largest thread tile that still gives the GPU enough blocks to be busy.
Configuration default_configuration(const GemmProblem& problem) {
  constexpr std::int64_t kTileWidth = 16;
  constexpr std::int64_t kEnoughBlocks = 200;
  std::int64_t results_m = 8;
  std::int64_t results_n = 4;
  const auto blocks = [&] {
    return ceil_div(problem.m, kTileWidth * results_m) *
           ceil_div(problem.n, kTileWidth * results_n) * std::min(problem.batch, kEnoughBlocks);
  };
  while (results_m > 1 && problem.m <= kTileWidth * results_m / 2) results_m /= 2;
  while (results_n > 1 && problem.n <= kTileWidth * results_n / 2) results_n /= 2;
  while (results_m * results_n > 1 && blocks() < kEnoughBlocks) {
    (results_m >= results_n ? results_m : results_n) /= 2;
  }
  const bool aligned = problem.lda() % 4 == 0 && problem.ldb() % 4 == 0;
  const std::int64_t widest = std::min<std::int64_t>(4, std::max(results_m, results_n));
  return Configuration({{"TILE_WIDTH", kTileWidth},
                        {"RESULTS_M", results_m},
                        {"RESULTS_N", results_n},
                        {"UNROLL", kTileWidth},
                        {"A_TRANSPOSED", 0},
                        {"PADDING", 0},
                        {"VECTOR_WIDTH", aligned ? widest : 1},
                        {"PREFETCH", results_m * results_n >= 4 ? 1 : 0}});
}

}  // namespace

std::vector<KernelTemplate> make_gemm_tiled(std::string_view source) {
  return {kernel_template({.name = "gemm_tiled",
                           .space_version = 1,
                           .source = source,
                           .space = ConfigSpace(parameters(), constraints()),
                           .min_compute_capability = 50,
                           .types = are_computed,
                           .supports = [](const GemmProblem&) { return true; },
                           .default_configuration = default_configuration,
                           .geometry = geometry,
                           .shared_bytes = shared_bytes,
                           .tile_shape = tile_shape})};
}

}  // namespace autotune
