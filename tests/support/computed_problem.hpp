// Products that a template computes, with the mathematics that it is for.
#pragma once

#include <initializer_list>
#include <optional>

#include <doctest/doctest.h>

#include "kernel_templates/kernel_template.hpp"
#include "operation/gemm/gemm.hpp"

namespace autotune::test {

// The product with the strictest mathematics that the template has, if it computes its size.
inline std::optional<GemmProblem> as_computed(const KernelTemplate& kernel, GemmProblem problem) {
  for (const Math math : {Math::strict, Math::emulated, Math::tf32}) {
    problem.math = math;
    if (computes(kernel, problem)) return problem;
  }
  return std::nullopt;
}

// The same of FP32 matrices, or else of BF16 ones.
inline std::optional<GemmProblem> as_computed_in_own_types(const KernelTemplate& kernel,
                                                           GemmProblem problem) {
  using enum ElementType;
  for (const GemmTypes& types : {GemmTypes(), GemmTypes{bf16, bf16, bf16, f32}}) {
    problem.types = types;
    if (const auto computed = as_computed(kernel, problem)) return computed;
  }
  return std::nullopt;
}

// The first of these that the template computes.
inline GemmProblem computed_by(const KernelTemplate& kernel,
                               std::initializer_list<GemmProblem> problems) {
  for (const GemmProblem& problem : problems) {
    if (const auto computed = as_computed_in_own_types(kernel, problem)) return *computed;
  }
  FAIL(kernel.name << " computes none of the products");
  return {};
}

}  // namespace autotune::test
