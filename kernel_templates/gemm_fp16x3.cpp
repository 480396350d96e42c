// The description of gemm_fp16x3.cu, whose comments explain the parameters.
#include <utility>

#include "kernel_templates/plane_products.hpp"
#include "kernel_templates/template_support.hpp"

namespace autotune {

KernelTemplate make_gemm_fp16x3(std::string_view source);

namespace {

std::vector<Constraint> constraints() {
  std::vector<Constraint> result = corrected_constraints();
  result.push_back(constraint_on<PlaneProducts>(
      "columns", "only blocks with 64 or 128 columns split K of one tile", {"BLOCK_N", "CLUSTER_K"},
      [](const PlaneProducts& v) { return v.cluster_k() == 1 || v.tile_n() % 64 == 0; }));
  return result;
}

}  // namespace

// With Math::tf32 one product is enough (gemm_fp16x1).
KernelTemplate make_gemm_fp16x3(std::string_view source) {
  const SplitProducts split{
      .products = 3, .planes = 2, .least_k = 64, .default_columns = {64, 80, 96, 112, 128}};
  GemmTemplate own{.name = "gemm_fp16x3",
                   .space_version = 2,
                   .source = source,
                   .space = ConfigSpace(plane_parameters(split.default_columns), constraints()),
                   .first_choice = [](const GemmProblem& problem) {
                     constexpr double kMany = 1e9;
                     return problem.math == Math::emulated && problem.operations() >= kMany;
                   }};
  return plane_template(corrected_products(std::move(own), split));
}

}  // namespace autotune
