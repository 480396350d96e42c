// A Gaussian process: what values at some points say of the value at another, and how surely
// (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006).
#pragma once

#include <cstddef>
#include <vector>

#include "tuner/search/model/covariance.hpp"
#include "tuner/search/model/triangle.hpp"

namespace autotune {

class GaussianProcess {
 public:
  GaussianProcess(const Covariance& covariance, const Points& points,
                  const std::vector<double>& values);

  // A point whose value is still to come: it makes those near it surer, no larger and no smaller.
  void add_pending(const float* point);

  // What a point's value is expected to be, and the most that it may deviate: as if only the
  // nearest of the others were known.
  struct Rough {
    double mean = 0;
    double deviation = 0;
  };
  [[nodiscard]] Rough rough(const float* point) const;

  // How far a point's value is settled by the others. Kept with the point, so that a pending
  // point that comes later costs little.
  struct Settled {
    std::vector<double> by;  // each of the others, in turn
    double share = 0;        // of the variance
  };
  void settle(const float* point, Settled& settled) const;
  [[nodiscard]] double deviation(const Settled& settled) const;
  // The deviation of a measured value: with the noise.
  [[nodiscard]] double noisy_deviation(const Settled& settled) const;
  // Of each value how far it is from what the others say of it, in the deviations that they give.
  [[nodiscard]] std::vector<double> left_out_errors() const;

 private:
  Correlation correlation_;
  Points points_;
  TriangularFactor factor_;
  std::vector<double> alpha_;  // the inverse covariance times the values
  double offset_ = 0;          // the values' mean
  double variance_ = 0;        // of the values around it
};

}  // namespace autotune
