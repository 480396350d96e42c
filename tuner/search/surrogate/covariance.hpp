// The correlation of two configurations' times: Matern 3/2, with a length scale for each
// coordinate.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace autotune {

// Rows with a coordinate for each scale.
using Points = std::vector<float>;

struct Covariance {
  std::vector<double> log_scales;  // a short scale: the coordinate matters much
  // The share of a coordinate's weight that counts in full as soon as two values differ, however
  // near they are, as log(share / (1 - share)). Without it near values have near results: the
  // coordinates are smooth.
  std::optional<double> step;
  double log_noise = 0;  // of the ratio of the noise's variance to the values'
  // Of the values that it was learned from, times the prior's density; for comparing covariances
  // that were learned from the same.
  double log_density = 0;

  // The assumptions before any value is known.
  static Covariance smooth(std::size_t dimensions);
  static Covariance stepped(std::size_t dimensions);
  // Climbs from the present scales, step and noise towards the greatest posterior density.
  void learn(const Points& points, const std::vector<double>& values);
};

// A Covariance prepared for many evaluations.
class Correlation {
 public:
  explicit Correlation(const Covariance& covariance);

  [[nodiscard]] std::size_t dimensions() const { return weights_.size(); }
  // 1 for the same point, close to 0 for distant ones.
  [[nodiscard]] double operator()(const float* a, const float* b) const;
  [[nodiscard]] double noise() const { return noise_; }

 private:
  std::vector<float> weights_;  // of the squared differences
  std::vector<float> steps_;    // of the differences that are not 0
  double noise_;
};

}  // namespace autotune
