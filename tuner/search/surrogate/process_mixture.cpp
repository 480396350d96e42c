#include "tuner/search/surrogate/process_mixture.hpp"

#include <algorithm>
#include <cmath>

namespace autotune {

ProcessMixture::ProcessMixture(const std::vector<WeighedCovariance>& covariances,
                               const Points& points, const std::vector<double>& values) {
  for (const auto& [covariance, weight] : covariances) {
    parts_.push_back({GaussianProcess(covariance, points, values), weight});
  }
}

void ProcessMixture::add_pending(const float* point) {
  for (Part& part : parts_) part.process.add_pending(point);
}

QuickPosterior ProcessMixture::quick_posterior(const float* point) const {
  if (parts_.size() == 1) return parts_.front().process.quick_posterior(point);
  double mean = 0;
  double squares = 0;
  for (const Part& part : parts_) {
    const QuickPosterior own = part.process.quick_posterior(point);
    mean += part.weight * own.mean;
    squares += part.weight * (own.mean * own.mean + own.deviation * own.deviation);
  }
  return {mean, std::sqrt(squares - mean * mean)};
}

void ProcessMixture::update(const float* point, MixtureCache& cache) const {
  if (cache.parts.empty()) {
    cache.parts.resize(parts_.size());
    cache.disagreement = disagreement(point);
  }
  for (std::size_t i = 0; i < parts_.size(); ++i) parts_[i].process.update(point, cache.parts[i]);
}

double ProcessMixture::deviation(const MixtureCache& cache) const {
  double variance = cache.disagreement;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const double own = parts_[i].process.deviation(cache.parts[i]);
    variance += parts_[i].weight * own * own;
  }
  return std::sqrt(variance);
}

double ProcessMixture::disagreement(const float* point) const {
  if (parts_.size() == 1) return 0;
  double mean = 0;
  double squares = 0;
  for (const Part& part : parts_) {
    const double own = part.process.quick_posterior(point).mean;
    mean += part.weight * own;
    squares += part.weight * own * own;
  }
  return std::max(squares - mean * mean, 0.0);
}

}  // namespace autotune
