#include "tuner/search/surrogate/triangle.hpp"

#include <algorithm>
#include <cmath>

namespace autotune {
namespace {

// The least pivot, since rounding may make a positive one zero or negative.
constexpr double kLeastPivot = 1e-10;

// Several sums at a time, so that the processor need not wait for each addition.
double dot(const double* a, const double* b, std::size_t count) {
  constexpr std::size_t kLanes = 4;
  double sums[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
  for (; i < count; ++i) sums[0] += a[i] * b[i];
  return sums[0] + sums[1] + (sums[2] + sums[3]);
}

}  // namespace

void TriangularFactor::append(const std::vector<double>& row) {
  std::vector<double> solved(row.begin(), row.end() - 1);
  solve(solved);
  const double rest = row.back() - dot(solved.data(), solved.data(), solved.size());
  packed_.insert(packed_.end(), solved.begin(), solved.end());
  packed_.push_back(std::sqrt(std::max(rest, kLeastPivot)));
  ++size_;
}

double TriangularFactor::log_determinant() const {
  double sum = 0;
  for (std::size_t i = 0; i < size_; ++i) sum += 2 * std::log(row(i)[i]);
  return sum;
}

void TriangularFactor::solve(std::vector<double>& x, std::size_t first) const {
  for (std::size_t i = first; i < x.size(); ++i) {
    x[i] = (x[i] - dot(row(i), x.data(), i)) / row(i)[i];
  }
}

void TriangularFactor::solve_transposed(std::vector<double>& x) const {
  for (std::size_t i = x.size(); i-- > 0;) {
    x[i] /= row(i)[i];
    for (std::size_t k = 0; k < i; ++k) x[k] -= row(i)[k] * x[i];
  }
}

}  // namespace autotune
