// The description of gemm_fp16x3.cu, whose comments explain the parameters.
#include <utility>

#include "kernel_templates/plane_products.hpp"
#include "kernel_templates/template_support.hpp"

namespace autotune {

KernelTemplate make_gemm_fp16x3(std::string_view source);

// With Math::tf32 one product is enough (gemm_fp16x1).
KernelTemplate make_gemm_fp16x3(std::string_view source) {
  const SplitProducts split{
      .products = 3, .planes = 2, .least_k = 64, .default_columns = {64, 80, 96, 112, 128}};
  GemmTemplate own{
      .name = "gemm_fp16x3",
      .space_version = 2,
      .source = source,
      .space = ConfigSpace(plane_parameters(split.default_columns), corrected_constraints()),
      .first_choice = [](const GemmProblem& problem) {
        constexpr double kMany = 1e8;
        return problem.math == Math::emulated && problem.operations() >= kMany;
      }};
  return plane_template(corrected_products(std::move(own), split));
}

}  // namespace autotune
