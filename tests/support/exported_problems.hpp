// The problems that every template is exported for as source.
#pragma once

#include <cstdint>
#include <vector>

#include "autotune/problem.hpp"

#include "kernel_templates/kernel_template.hpp"

namespace autotune::test {

// Problems that a template computes: a large or a flat one, strict or else with each arithmetic.
// None for a batch where it computes none.
inline std::vector<GemmProblem> exported_problems(const KernelTemplate& kernel,
                                                  std::int64_t batch) {
  constexpr Transpose kT = Transpose::transposed;
  std::vector<GemmProblem> result;
  for (GemmProblem problem : {GemmProblem{.m = 512, .n = 512, .k = 512, .op_a = kT},
                              GemmProblem{.m = 2, .n = 1000, .k = 500, .op_a = kT, .op_b = kT}}) {
    problem.batch = batch;
    for (const Math math : {Math::strict, Math::emulated, Math::tf32}) {
      problem.math = math;
      if (kernel.supports(problem)) result.push_back(problem);
      if (math == Math::strict && !result.empty()) break;
    }
    if (!result.empty()) break;
  }
  return result;
}

}  // namespace autotune::test
