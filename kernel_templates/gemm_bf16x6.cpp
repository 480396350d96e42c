// The description of gemm_bf16x6.cu, whose comments explain the parameters.
#include <utility>

#include "kernel_templates/plane_products.hpp"
#include "kernel_templates/template_support.hpp"

namespace autotune {

KernelTemplate make_gemm_bf16x6(std::string_view source);

namespace {

std::vector<Constraint> constraints() {
  std::vector<Constraint> result = corrected_constraints();
  result.push_back(constraint_on<PlaneProducts>(
      "registers", "two blocks of an SM have registers for the sums of 64 columns",
      {"BLOCK_N", "MIN_BLOCKS"},
      [](const PlaneProducts& v) { return v.min_blocks() == 1 || v.tile_n() == 64; }));
  return result;
}

}  // namespace

// Where gemm_fp16x3 computes all rows from its planes, it is always faster.
KernelTemplate make_gemm_bf16x6(std::string_view source) {
  const SplitProducts split{.products = 6, .planes = 3, .least_k = 256, .default_columns = {128}};
  GemmTemplate own{.name = "gemm_bf16x6",
                   .space_version = 2,
                   .source = source,
                   .space = ConfigSpace(plane_parameters({64, 128}), constraints()),
                   .only_named = true};
  own = corrected_products(std::move(own), split);
  // NVRTC 13.5 spills where two groups have 128 columns.
  own.default_configuration = [shared = own.default_configuration](const GemmProblem& problem) {
    Configuration result = shared(problem);
    result.set("WARPGROUPS", 1);
    return result;
  };
  return plane_template(std::move(own));
}

}  // namespace autotune
