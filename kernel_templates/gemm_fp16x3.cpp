// The description of gemm_fp16x3.cu, whose comments explain the parameters.
#include <utility>

#include "kernel_templates/plane_products.hpp"

namespace autotune {

KernelTemplate make_gemm_fp16x3(std::string_view source);

// With Math::tf32 one product is enough (gemm_fp16x1).
KernelTemplate make_gemm_fp16x3(std::string_view source) {
  GemmTemplate own{.name = "gemm_fp16x3",
                   .space_version = 2,
                   .source = source,
                   .space = ConfigSpace(plane_parameters({64, 128}), corrected_constraints()),
                   .first_choice = [](const GemmProblem& problem) {
                     constexpr double kMany = 1e9;
                     return problem.math == Math::emulated && problem.operations() >= kMany;
                   }};
  return plane_template(
      corrected_products(std::move(own), {.products = 3, .planes = 2, .least_k = 64}));
}

}  // namespace autotune
