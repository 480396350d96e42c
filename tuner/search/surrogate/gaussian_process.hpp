// Gaussian process regression: the values at some points give a mean and a deviation for the value
// at any other (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006).
#pragma once

#include <cstddef>
#include <vector>

#include "tuner/search/surrogate/covariance.hpp"
#include "tuner/search/surrogate/triangle.hpp"

namespace autotune {

// The mean of a point's value, and an upper bound of its deviation: that given by the nearest known
// point alone.
struct QuickPosterior {
  double mean = 0;
  double deviation = 0;
};

// The exact posterior of a point, kept with the point so that an update for a new pending point is
// cheap.
struct PosteriorCache {
  std::vector<double> solved;  // the inverse of the factor times the covariances
  double explained = 0;        // share of the variance
};

class GaussianProcess {
 public:
  GaussianProcess(const Covariance& covariance, const Points& points,
                  const std::vector<double>& values);

  // A point whose value is not known yet lowers the deviations near it and leaves the means as they
  // are.
  void add_pending(const float* point);

  [[nodiscard]] QuickPosterior quick_posterior(const float* point) const;
  // Takes the points that were added since the last update into the cache.
  void update(const float* point, PosteriorCache& cache) const;
  // The deviation of the point's value.
  [[nodiscard]] double deviation(const PosteriorCache& cache) const;

 private:
  Correlation correlation_;
  Points points_;
  TriangularFactor factor_;
  std::vector<double> alpha_;  // the inverse covariance times the values
  double offset_ = 0;          // the values' mean
  double variance_ = 0;        // of the values around their mean
};

}  // namespace autotune
