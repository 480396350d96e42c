#include "select/shape_kernel.hpp"

#include <cmath>

namespace autotune {
namespace {

// The distances over which the residuals of the trees are alike (docs/prediction.md).
constexpr ShapeFeatures kScales = {0.2, 0.2, 0.2, 0.5, 0.5, 0.5};

}  // namespace

ShapeFeatures shape_features(const GemmProblem& problem, bool aligned) {
  const auto octaves = [](std::int64_t size) { return std::log2(static_cast<double>(size)); };
  // A batch has the tiles of a product with the rows of all its products.
  return {octaves(problem.m) + octaves(problem.batch),
          octaves(problem.n),
          octaves(problem.k),
          problem.op_a == Transpose::transposed ? 1.0 : 0.0,
          problem.op_b == Transpose::transposed ? 1.0 : 0.0,
          aligned ? 0.0 : 1.0};
}

double likeness(const ShapeFeatures& a, const ShapeFeatures& b) {
  double squares = 0;
  for (std::size_t i = 0; i < kShapeFeatures; ++i) {
    const double steps = (a[i] - b[i]) / kScales[i];
    squares += steps * steps;
  }
  const double distance = std::sqrt(3 * squares);
  return (1 + distance) * std::exp(-distance);
}

}  // namespace autotune
