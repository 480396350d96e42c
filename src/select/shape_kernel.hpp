// The likeness of two shapes, by which measured times of one say something about another.
#pragma once

#include <array>
#include <cstddef>

#include "autotune/problem.hpp"

namespace autotune {

// log2 of m, n and k; then 0 or 1: op(A) transposed, op(B) transposed, operands not aligned.
inline constexpr std::size_t kShapeFeatures = 6;
using ShapeFeatures = std::array<double, kShapeFeatures>;

// `aligned`: as CodeTraits has it.
[[nodiscard]] ShapeFeatures shape_features(const GemmProblem& problem, bool aligned);

// Matern's covariance with the smoothness 3/2 (C. E. Rasmussen and C. K. I. Williams, Gaussian
// Processes for Machine Learning, 2006, section 4.2): 1 for equal shapes, towards 0 for shapes that
// are more than a few octaves apart.
[[nodiscard]] double likeness(const ShapeFeatures& a, const ShapeFeatures& b);

}  // namespace autotune
