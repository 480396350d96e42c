#include "tuner/search/surrogate/gaussian_process.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace autotune {
namespace {

constexpr double kLeastShare = 1e-6;  // of the variance, which never counts as explained

}  // namespace

GaussianProcess::GaussianProcess(const Covariance& covariance, const Points& points,
                                 const std::vector<double>& values)
    : correlation_(covariance), alpha_(values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    add_pending(&points[i * correlation_.dimensions()]);
  }
  const auto count = static_cast<double>(values.size());
  offset_ = std::accumulate(values.begin(), values.end(), 0.0) / count;
  for (double& value : alpha_) value -= offset_;
  factor_.solve(alpha_);
  variance_ = std::inner_product(alpha_.begin(), alpha_.end(), alpha_.begin(), 1e-12) / count;
  factor_.solve_transposed(alpha_);
}

void GaussianProcess::add_pending(const float* point) {
  std::vector<double> row;
  for (std::size_t i = 0; i < factor_.size(); ++i) {
    row.push_back(correlation_(point, &points_[i * correlation_.dimensions()]));
  }
  row.push_back(1 + correlation_.noise());
  factor_.append(row);
  points_.insert(points_.end(), point, point + correlation_.dimensions());
}

QuickPosterior GaussianProcess::quick_posterior(const float* point) const {
  double mean = offset_;
  double nearest = 0;
  for (std::size_t i = 0; i < alpha_.size(); ++i) {
    const double correlation = correlation_(point, &points_[i * correlation_.dimensions()]);
    mean += alpha_[i] * correlation;
    nearest = std::max(nearest, correlation);
  }
  const double rest = 1 - nearest * nearest / (1 + correlation_.noise());
  return {mean, std::sqrt(variance_ * std::max(rest, kLeastShare))};
}

void GaussianProcess::update(const float* point, PosteriorCache& cache) const {
  const std::size_t first = cache.solved.size();
  for (std::size_t i = first; i < factor_.size(); ++i) {
    cache.solved.push_back(correlation_(point, &points_[i * correlation_.dimensions()]));
  }
  factor_.solve(cache.solved, first);
  for (std::size_t i = first; i < factor_.size(); ++i) {
    cache.explained += cache.solved[i] * cache.solved[i];
  }
}

double GaussianProcess::deviation(const PosteriorCache& cache) const {
  return std::sqrt(variance_ * std::max(1 - cache.explained, kLeastShare));
}

}  // namespace autotune
