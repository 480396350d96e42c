// The description of gemm_fp16x1.cu, whose comments explain the parameters.
#include <algorithm>

#include "kernel_templates/plane_products.hpp"
#include "kernel_templates/template_support.hpp"

namespace autotune {

KernelTemplate make_gemm_fp16x1(std::string_view source);

namespace {

constexpr std::int64_t kPlanes = 1;  // of an operand
// With less, nearly all of the time is that of the preparation.
constexpr std::int64_t kLeastK = 32;

std::vector<Constraint> constraints() {
  return {
      constraint_on<PlaneProducts>(
          "tile", "only tiles with 128 rows have more than 128 columns", {"BLOCK_N", "WARPGROUPS"},
          [](const PlaneProducts& v) { return v.tile_n() <= 128 || v.warpgroups() == 2; }),
      plane_blocks_constraint(),
      plane_split_constraint(),
      constraint_on<PlaneProducts>(
          "cluster", "only blocks with 128 rows and at least 128 columns share copies",
          {"BLOCK_N", "WARPGROUPS", "CLUSTER"},
          [](const PlaneProducts& v) {
            return v.cluster() == 1 || (v.warpgroups() == 2 && v.tile_n() >= 128);
          }),
  };
}

LaunchGeometry geometry(const Configuration& configuration, const GemmProblem& problem) {
  return PlaneProducts{configuration}.geometry(problem, kPlanes);
}

// A k_tile takes the time of its matrix instructions or that of its copies from the L2 cache, of
// which an SM has a share.
double cost_model(const Configuration& configuration, const TiledLaunch& launch,
                  const GemmProblem& problem, const SmLimits&, int sm_count) {
  constexpr double kIdle = 0.1;  // of the time that one group of warps alone takes
  constexpr double kBytesPerCycle = 45;
  const PlaneProducts v{configuration};
  const auto columns = static_cast<double>(v.tile_n());
  const auto groups = static_cast<double>(v.warpgroups() * v.min_blocks());
  const double instructions = 2 * columns * groups * (1 + kIdle / groups / groups);
  const std::int64_t copied_rows = v.min_blocks() * (v.tile_m() + v.tile_n() / v.cluster());
  const double copies =
      static_cast<double>(PlaneProducts::kRowBytes * copied_rows) / kBytesPerCycle;
  const double tile_cycles = 1'000 + 16 * columns;
  return v.cycles(launch, problem, sm_count, std::max(instructions, copies), tile_cycles);
}

Configuration default_configuration(const GemmProblem& problem) {
  constexpr std::int64_t kSms = 132;
  const std::int64_t tiles_m = ceil_div(problem.m, 128);
  const std::int64_t tiles = tiles_m * ceil_div(problem.n, 128);
  const std::int64_t wide_tiles = tiles_m * ceil_div(problem.n, 256);
  const bool is_small = 2 * tiles <= kSms / 2;
  const bool is_medium = tiles <= kSms;
  // Tiles that nearly fill the device at once are not shared.
  const bool is_one_round = wide_tiles <= kSms && 8 * wide_tiles >= 7 * kSms;
  Configuration result;
  result.set("BLOCK_N", is_small ? 64 : is_medium ? 128 : 256);
  result.set("WARPGROUPS", is_medium ? 1 : 2);
  result.set("CLUSTER", is_medium || tiles_m % 2 == 1 ? 1 : 2);
  result.set("CLUSTER_K", is_small ? blocks_of_small_tile(problem, kSms) : 1);
  result.set("MIN_BLOCKS", 1);
  result.set("SPLIT_K", is_medium || is_one_round ? 1 : 0);
  result.set("RASTER", is_medium ? 4 : 8);
  result.set("PREPARE_THREADS", 256);
  return result;
}

bool supports(const GemmProblem& problem) {
  return problem.math == Math::tf32 && problem.k >= kLeastK && problem.k <= PlaneProducts::kMostK &&
         problem.batch == 1;
}

}  // namespace

KernelTemplate make_gemm_fp16x1(std::string_view source) {
  return plane_template({.name = "gemm_fp16x1",
                         .space_version = 2,
                         .source = source,
                         .space = ConfigSpace(plane_parameters({64, 128, 192, 256}), constraints()),
                         .supports = supports,
                         .default_configuration = default_configuration,
                         .geometry = geometry,
                         .cost_model = cost_model,
                         .tensor_products =
                             [](const GemmProblem&) {
                               return TensorProducts{TensorInput::fp16, 1, kPlanes};
                             },
                         .first_choice =
                             [](const GemmProblem& problem) {
                               constexpr double kMany = 1e9;
                               return problem.math == Math::tf32 && problem.operations() >= kMany;
                             }});
}

}  // namespace autotune
