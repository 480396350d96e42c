// The description of gemm_fp16x3.cu, whose comments explain the parameters.
#include "kernel_templates/plane_products.hpp"
#include "kernel_templates/template_support.hpp"

namespace autotune {

KernelTemplate make_gemm_fp16x3(std::string_view source);

namespace {

constexpr std::int64_t kPlanes = 2;  // of an operand
// With fewer products FP32 itself is more accurate.
constexpr std::int64_t kLeastK = 256;

std::vector<Constraint> constraints() {
  return {
      plane_blocks_constraint(),
      constraint_on<PlaneProducts>("cluster", "only blocks with 128 rows and columns share copies",
                                   {"BLOCK_N", "WARPGROUPS", "CLUSTER"},
                                   [](const PlaneProducts& v) {
                                     return v.cluster() == 1 || v.warpgroups() * v.tile_n() == 256;
                                   }),
      plane_raster_constraint(),
  };
}

LaunchGeometry geometry(const Configuration& configuration, const GemmProblem& problem) {
  return PlaneProducts{configuration}.geometry(problem, kPlanes);
}

double cost_model(const Configuration& configuration, const TiledLaunch& launch,
                  const GemmProblem& problem, const SmLimits&, int sm_count) {
  constexpr double kTileCycles = 3'000;
  constexpr double kIdle = 0.2;  // of the time that one group of warps alone takes
  const PlaneProducts v{configuration};
  const auto groups = static_cast<double>(v.warpgroups() * v.min_blocks());
  const double k_tile =
      6 * static_cast<double>(v.tile_n()) * groups * (1 + kIdle / groups / groups);
  return v.cycles(launch, problem, sm_count, k_tile, kTileCycles);
}

Configuration default_configuration(const GemmProblem& problem) {
  constexpr std::int64_t kSms = 132;
  const std::int64_t tiles = ceil_div(problem.m, 128) * ceil_div(problem.n, 128);
  const bool is_small = 2 * tiles <= kSms / 2;
  const bool is_medium = tiles <= kSms;
  Configuration result;
  result.set("BLOCK_N", is_small ? 64 : 128);
  result.set("WARPGROUPS", is_medium ? 1 : 2);
  result.set("CLUSTER", 1);
  result.set("MIN_BLOCKS", 1);
  result.set("SPLIT_K", is_medium ? 1 : 0);
  result.set("RASTER", is_medium ? 4 : 8);
  result.set("PREPARE_THREADS", problem.k <= 4096 ? 256 : 512);
  return result;
}

// With Math::tf32 one product is enough (gemm_fp16x1).
bool supports(const GemmProblem& problem) {
  return problem.math == Math::emulated && problem.k >= kLeastK &&
         problem.k <= PlaneProducts::kMostK && problem.batch == 1;
}

}  // namespace

KernelTemplate make_gemm_fp16x3(std::string_view source) {
  return plane_template({.name = "gemm_fp16x3",
                         .space_version = 1,
                         .source = source,
                         .space = ConfigSpace(plane_parameters({64, 128}), constraints()),
                         .supports = supports,
                         .default_configuration = default_configuration,
                         .geometry = geometry,
                         .cost_model = cost_model,
                         .first_choice = [](const GemmProblem& problem) {
                           constexpr double kMany = 1e9;
                           return problem.math == Math::emulated && problem.operations() >= kMany;
                         }});
}

}  // namespace autotune
