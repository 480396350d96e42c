// How alike two configurations' times are taken to be: the Matern 3/2 correlation, with a length
// scale for each coordinate.
#pragma once

#include <cstddef>
#include <vector>

namespace autotune {

// Rows of as many coordinates as there are scales.
using Points = std::vector<float>;

struct Covariance {
  std::vector<double> log_scales;  // short: the coordinate matters much
  double log_noise = 0;            // of the noise's variance over that of the values

  // What is assumed before there is anything to learn from.
  static Covariance first(std::size_t dimensions);
  // The scales and the noise of the greatest posterior density, climbing from the present ones.
  void learn(const Points& points, const std::vector<double>& values);
};

// A Covariance made ready for many evaluations.
class Correlation {
 public:
  explicit Correlation(const Covariance& covariance);

  [[nodiscard]] std::size_t dimensions() const { return weights_.size(); }
  // 1 for the same point, towards 0 for far ones.
  [[nodiscard]] double operator()(const float* a, const float* b) const;
  [[nodiscard]] double noise() const { return noise_; }

 private:
  std::vector<float> weights_;  // of the squared differences
  double noise_;
};

}  // namespace autotune
