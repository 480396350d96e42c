// Operands on which the accuracy of products is measured.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "autotune/problem.hpp"

namespace autotune {

// Row-major operands of a product without transposes.
struct Operands {
  GemmProblem problem;
  std::vector<float> a, b;
};

struct KindOfData {
  std::string name;
  Operands (*make)(const GemmProblem& problem);
};

// Data that a product must be accurate on: uniform, normal and lognormal values, rows of A with one
// outlier, and sums that nearly cancel. All mantissas are full.
[[nodiscard]] std::span<const KindOfData> kinds_of_data();
// Data with infinities, NaN, subnormals, or sums beyond the range of FP32.
[[nodiscard]] std::span<const KindOfData> special_kinds_of_data();

}  // namespace autotune
