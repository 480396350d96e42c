#include "kernel_templates/gemm_template.hpp"

#include <utility>

#include "kernel_templates/cost_model.hpp"
#include "operation/gemm/gemm.hpp"

namespace autotune {
namespace {

// Functions of a GemmProblem as functions of a Problem; empty ones stay empty.
template <typename Result>
std::function<Result(const Problem&)> on_problem(
    std::function<Result(const GemmProblem&)> function) {
  if (!function) return {};
  return [function = std::move(function)](const Problem& problem) {
    return function(gemm_problem(problem));
  };
}

// A K of 1, with which no blocks share work, and a large K; the former also with both operands
// contiguous along K.
std::vector<Problem> limiting_problems() {
  const GemmProblem smallest{.m = 1, .n = 1, .k = 1};
  GemmProblem along_k = smallest;
  along_k.op_b = Transpose::transposed;
  return {smallest, along_k, GemmProblem{.m = 1, .n = 1, .k = 1 << 20}};
}

}  // namespace

KernelTemplate kernel_template(GemmTemplate gemm) {
  KernelTemplate result{
      .name = std::move(gemm.name),
      .space_version = gemm.space_version,
      .operation = &gemm_operation(),
      .source = gemm.source,
      .space = std::move(gemm.space),
      .min_compute_capability = gemm.min_compute_capability,
      .end_compute_capability = gemm.end_compute_capability,
      .signature =
          [maps = gemm.takes_tensor_maps,
           prepared = gemm.takes_prepared_operands](const Problem& problem) {
            KernelSignature signature = gemm_signature(problem, maps);
            if (!prepared) return signature;
            for (const KernelArgument more : {KernelArgument{ArgumentKind::prepared, kGemmA},
                                              KernelArgument{ArgumentKind::prepared, kGemmB},
                                              KernelArgument{ArgumentKind::prepares}}) {
              signature.push_back(more);
            }
            return signature;
          },
      .supports =
          [types = gemm.types, needs_alignment = gemm.needs_alignment,
           supports = std::move(gemm.supports)](const Problem& problem) {
            const GemmProblem product = gemm_problem(problem);
            return types(product.types) && (!needs_alignment || rows_are_aligned(product)) &&
                   supports(product);
          },
      .default_configuration = on_problem(std::move(gemm.default_configuration)),
      .geometry =
          [geometry = std::move(gemm.geometry)](const Configuration& configuration,
                                                const Problem& problem) {
            return geometry(configuration, gemm_problem(problem));
          },
      .shared_bytes = std::move(gemm.shared_bytes),
      .tile_shape = std::move(gemm.tile_shape),
      .limiting_problems = limiting_problems(),
      .macros = on_problem(std::move(gemm.macros)),
      .tensor_products = on_problem(std::move(gemm.tensor_products)),
      .first_choice = on_problem(std::move(gemm.first_choice)),
      .configuration_capability = std::move(gemm.configuration_capability),
      .takes_tensor_maps = gemm.takes_tensor_maps,
      .copying_threads = gemm.copying_threads,
      .architecture_specific = gemm.architecture_specific,
      .options = std::move(gemm.options),
      .knows_alignment = gemm.knows_alignment,
      .needs_alignment = gemm.needs_alignment,
      .launch_parameters = std::move(gemm.launch_parameters)};
  result.cost_model = [cycles = std::move(gemm.cost_model)](
                          const Configuration& configuration, const TiledLaunch& launch,
                          const Problem& problem, const SmLimits& sm, int sm_count) {
    const GemmProblem product = gemm_problem(problem);
    return cycles ? cycles(configuration, launch, product, sm, sm_count)
                  : ffma_cycles(launch, product, sm, sm_count);
  };
  return result;
}

}  // namespace autotune
