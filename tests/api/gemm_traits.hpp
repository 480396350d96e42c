// The traits of a GEMM kernel's code.
#pragma once

#include "autotune/problem.hpp"

#include "kernel_templates/kernel_template.hpp"
#include "operation/gemm/gemm.hpp"

namespace autotune::test {

inline CodeTraits traits_of(const GemmProblem& problem, bool aligned) {
  return {gemm_operation().code_macros(problem), aligned};
}

}  // namespace autotune::test
