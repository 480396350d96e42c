#include "tuner/search/model/covariance.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tuner/search/model/triangle.hpp"

namespace autotune {
namespace {

// The priors are log-normal with these spreads.
constexpr double kScaleSpread = 1.0;
constexpr double kNoiseSpread = 1.5;
constexpr double kFirstLogNoise = -6;  // a deviation of 5 % of the values'

// The bounds of the scales, as logarithms from the prior's centre, and of the noise, which keep the
// matrix well conditioned.
constexpr double kFarthestScale = 4;
constexpr double kLeastLogNoise = -10;
constexpr double kLargestLogNoise = 1;

// The steps of one gradient ascent.
constexpr int kSteps = 12;
constexpr double kFirstStep = 0.3;
constexpr double kLeastStep = 0.01;
constexpr double kLargestStep = 0.6;

// The scale grows with the number of coordinates, since distances add up over them.
double first_log_scale(std::size_t dimensions) {
  return 0.5 * std::log(static_cast<double>(std::max<std::size_t>(dimensions, 1)) / 4);
}

std::vector<double> centred(std::vector<double> values) {
  const double mean =
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  for (double& value : values) value -= mean;
  return values;
}

// The gradient of the log marginal likelihood by the log scales and, last, the log noise, with the
// values' variance at its best for each (Rasmussen and Williams, equation 5.9).
class Likelihood {
 public:
  Likelihood(const Covariance& covariance, const Points& points, std::vector<double> values)
      : dimensions_(covariance.log_scales.size()), points_(points), values_(std::move(values)) {
    for (const double scale : covariance.log_scales) weights_.push_back(std::exp(-2 * scale));
    noise_ = std::exp(covariance.log_noise);
    std::vector<double> row;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      row.clear();
      for (std::size_t j = 0; j < i; ++j) {
        const double r = std::sqrt(3 * squared_distance(i, j));
        row.push_back((1 + r) * std::exp(-r));
      }
      row.push_back(1 + noise_);
      factor_.append(row);
    }
  }

  [[nodiscard]] std::vector<double> gradient() const {
    std::vector<double> alpha = values_;
    factor_.solve(alpha);
    const double variance = std::inner_product(alpha.begin(), alpha.end(), alpha.begin(), 1e-12) /
                            static_cast<double>(values_.size());
    factor_.solve_transposed(alpha);
    std::vector<double> result(dimensions_ + 1);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const std::vector<double> inverse = inverse_column(i);
      for (std::size_t j = 0; j < i; ++j) {
        add_pair(i, j, alpha[i] * alpha[j] / variance - inverse[j], result);
      }
      result.back() += 0.5 * noise_ * (alpha[i] * alpha[i] / variance - inverse[i]);
    }
    return result;
  }

 private:
  [[nodiscard]] double squared_difference(std::size_t i, std::size_t j, std::size_t d) const {
    const double difference = points_[i * dimensions_ + d] - points_[j * dimensions_ + d];
    return difference * difference * weights_[d];
  }

  [[nodiscard]] double squared_distance(std::size_t i, std::size_t j) const {
    double sum = 0;
    for (std::size_t d = 0; d < dimensions_; ++d) sum += squared_difference(i, j, d);
    return sum;
  }

  [[nodiscard]] std::vector<double> inverse_column(std::size_t i) const {
    std::vector<double> column(values_.size());
    column[i] = 1;
    factor_.solve(column, i);
    factor_.solve_transposed(column);
    return column;
  }

  void add_pair(std::size_t i, std::size_t j, double weight, std::vector<double>& result) const {
    const double slope = 3 * std::exp(-std::sqrt(3 * squared_distance(i, j)));
    for (std::size_t d = 0; d < dimensions_; ++d) {
      result[d] += weight * slope * squared_difference(i, j, d);
    }
  }

  std::size_t dimensions_;
  const Points& points_;
  std::vector<double> values_;
  std::vector<double> weights_;
  double noise_ = 0;
  TriangularFactor factor_;
};

}  // namespace

Covariance Covariance::first(std::size_t dimensions) {
  return {std::vector<double>(dimensions, first_log_scale(dimensions)), kFirstLogNoise};
}

// The steps grow while the slope keeps its sign and shrink where it changes (Rprop).
void Covariance::learn(const Points& points, const std::vector<double>& values) {
  const std::vector<double> around_mean = centred(values);
  const std::size_t dimensions = log_scales.size();
  const double centre = first_log_scale(dimensions);
  std::vector<double> steps(dimensions + 1, kFirstStep);
  std::vector<double> before(dimensions + 1);
  for (int turn = 0; turn < kSteps; ++turn) {
    std::vector<double> slope = Likelihood(*this, points, around_mean).gradient();
    for (std::size_t d = 0; d <= dimensions; ++d) {
      double& place = d < dimensions ? log_scales[d] : log_noise;
      slope[d] -= d < dimensions ? (place - centre) / (kScaleSpread * kScaleSpread)
                                 : (place - kFirstLogNoise) / (kNoiseSpread * kNoiseSpread);
      const double agreement = slope[d] * before[d];
      if (agreement > 0) steps[d] = std::min(1.3 * steps[d], kLargestStep);
      if (agreement < 0) steps[d] = std::max(0.5 * steps[d], kLeastStep);
      if (slope[d] != 0) place += slope[d] > 0 ? steps[d] : -steps[d];
      place = d < dimensions ? std::clamp(place, centre - kFarthestScale, centre + kFarthestScale)
                             : std::clamp(place, kLeastLogNoise, kLargestLogNoise);
      before[d] = slope[d];
    }
  }
}

Correlation::Correlation(const Covariance& covariance) : noise_(std::exp(covariance.log_noise)) {
  for (const double scale : covariance.log_scales) {
    weights_.push_back(static_cast<float>(3 * std::exp(-2 * scale)));
  }
}

double Correlation::operator()(const float* a, const float* b) const {
  float sum = 0;
  for (std::size_t d = 0; d < weights_.size(); ++d) {
    const float difference = a[d] - b[d];
    sum += difference * difference * weights_[d];
  }
  const float r = std::sqrt(sum);
  return static_cast<double>((1 + r) * std::exp(-r));
}

}  // namespace autotune
