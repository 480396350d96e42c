#include "cli/output/problem_text.hpp"

#include "cli/gemm_output.hpp"

namespace autotune {

std::string size_text(const KernelSet& kernels, const Problem& problem, bool with_math) {
  const Operation* const operation = kernels.operation_of(problem);
  if (operation == nullptr) return problem.key();
  return operation->text(problem) + (with_math ? " " + math_text(problem) : "");
}

double rate_of(const KernelSet& kernels, const Problem& problem, double time_us) {
  const Operation* const operation = kernels.operation_of(problem);
  if (operation == nullptr || !(time_us > 0)) return 0;
  return gflops(operation->work(problem), time_us);
}

}  // namespace autotune
