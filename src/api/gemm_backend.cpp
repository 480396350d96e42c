#include "api/gemm_backend.hpp"

#include "kernel_templates/kernel_set.hpp"

namespace autotune {

BestConfiguration nothing_to_choose(const GemmProblem& problem) {
  BestConfiguration best;
  best.match = MatchKind::exact;
  best.explanation = "there is nothing to multiply";
  best.tuned_for = problem;
  return best;
}

GemmProblem scaled_problem(bool batched) {
  GemmProblem scaled = kScaledProblem;
  scaled.batch = batched ? 2 : 1;
  return scaled;
}

KernelChoice scaling_choice(const KernelSet& kernels, bool batched) {
  const KernelTemplate& kernel = *kernels.find("gemm_tiled");
  KernelChoice choice{&kernel, nothing_to_choose(kScaledProblem), scaled_problem(batched), ""};
  choice.best.configuration = kernel.default_configuration(kScaledProblem);
  return choice;
}

}  // namespace autotune
