#include "tuner/search/surrogate/covariance.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tuner/search/surrogate/triangle.hpp"

namespace autotune {
namespace {

// The priors are log-normal with these spreads.
constexpr double kScaleSpread = 1.0;
constexpr double kNoiseSpread = 1.5;
constexpr double kFirstLogNoise = -6;  // a deviation of 5 % of the values'
constexpr double kFirstStep = -2;      // a share of 12 %
constexpr double kStepSpread = 1.5;

// The bounds of the scales and the step, from the prior's centre, and of the noise, which keep the
// matrix well conditioned.
constexpr double kFarthest = 4;
constexpr double kLeastLogNoise = -10;
constexpr double kLargestLogNoise = 1;

// The strides of one gradient ascent.
constexpr int kStrides = 12;
constexpr double kFirstStride = 0.3;
constexpr double kLeastStride = 0.01;
constexpr double kLargestStride = 0.6;

// The scale grows with the number of coordinates, since distances add up over them.
double first_log_scale(std::size_t dimensions) {
  return 0.5 * std::log(static_cast<double>(std::max<std::size_t>(dimensions, 1)) / 4);
}

double share_of(const std::optional<double>& step) {
  return step ? 1 / (1 + std::exp(-*step)) : 0;
}

std::vector<double> centred(std::vector<double> values) {
  const double mean =
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  for (double& value : values) value -= mean;
  return values;
}

// The log marginal likelihood and its gradient by the log scales, the step and, last, the log
// noise, with the values' variance at its best for each (Rasmussen and Williams, equations 2.30
// and 5.9).
class Likelihood {
 public:
  Likelihood(const Covariance& covariance, const Points& points, std::vector<double> values)
      : dimensions_(covariance.log_scales.size()),
        points_(points),
        values_(std::move(values)),
        has_step_(covariance.step),
        step_share_(share_of(covariance.step)) {
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

  // But for a constant.
  [[nodiscard]] double value() const {
    std::vector<double> solved = values_;
    factor_.solve(solved);
    return -0.5 * static_cast<double>(values_.size()) * std::log(variance(solved)) -
           0.5 * factor_.log_determinant();
  }

  [[nodiscard]] std::vector<double> gradient() const {
    std::vector<double> alpha = values_;
    factor_.solve(alpha);
    const double variance = this->variance(alpha);
    factor_.solve_transposed(alpha);
    std::vector<double> result(dimensions_ + (has_step_ ? 2 : 1));
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
  [[nodiscard]] double variance(const std::vector<double>& solved) const {
    return std::inner_product(solved.begin(), solved.end(), solved.begin(), 1e-12) /
           static_cast<double>(values_.size());
  }

  [[nodiscard]] double squared_difference(std::size_t i, std::size_t j, std::size_t d) const {
    const double difference = points_[i * dimensions_ + d] - points_[j * dimensions_ + d];
    if (difference == 0) return 0;
    return weights_[d] * (step_share_ + (1 - step_share_) * difference * difference);
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
    const double slope = weight * 3 * std::exp(-std::sqrt(3 * squared_distance(i, j)));
    for (std::size_t d = 0; d < dimensions_; ++d) {
      const double difference = squared_difference(i, j, d);
      if (difference == 0) continue;
      result[d] += slope * difference;
      // The part of the weight that the step adds or takes.
      if (has_step_) result[dimensions_] -= 0.5 * slope * step_share_ * (weights_[d] - difference);
    }
  }

  std::size_t dimensions_;
  const Points& points_;
  std::vector<double> values_;
  std::vector<double> weights_;
  bool has_step_;
  double step_share_;
  double noise_ = 0;
  TriangularFactor factor_;
};

// A parameter of a covariance, with its prior and its bounds.
struct Place {
  double* value;
  double centre;
  double spread;
  double least;
  double most;
};

std::vector<Place> places_of(Covariance& covariance) {
  std::vector<Place> places;
  const auto add = [&](double& value, double centre, double spread) {
    places.push_back({&value, centre, spread, centre - kFarthest, centre + kFarthest});
  };
  const double centre = first_log_scale(covariance.log_scales.size());
  for (double& scale : covariance.log_scales) add(scale, centre, kScaleSpread);
  if (covariance.step) add(*covariance.step, kFirstStep, kStepSpread);
  places.push_back(
      {&covariance.log_noise, kFirstLogNoise, kNoiseSpread, kLeastLogNoise, kLargestLogNoise});
  return places;
}

double log_prior(const std::vector<Place>& places) {
  double sum = 0;
  for (const Place& place : places) {
    const double deviation = (*place.value - place.centre) / place.spread;
    sum -= 0.5 * deviation * deviation;
  }
  return sum;
}

}  // namespace

Covariance Covariance::smooth(std::size_t dimensions) {
  return {.log_scales = std::vector<double>(dimensions, first_log_scale(dimensions)),
          .log_noise = kFirstLogNoise};
}

Covariance Covariance::stepped(std::size_t dimensions) {
  Covariance covariance = smooth(dimensions);
  covariance.step = kFirstStep;
  return covariance;
}

// The strides grow while the slope keeps its sign and shrink where it changes (Rprop).
void Covariance::learn(const Points& points, const std::vector<double>& values) {
  const std::vector<double> around_mean = centred(values);
  const std::vector<Place> places = places_of(*this);
  std::vector<double> strides(places.size(), kFirstStride);
  std::vector<double> before(places.size());
  for (int turn = 0; turn < kStrides; ++turn) {
    std::vector<double> slope = Likelihood(*this, points, around_mean).gradient();
    for (std::size_t i = 0; i < places.size(); ++i) {
      const Place& place = places[i];
      slope[i] -= (*place.value - place.centre) / (place.spread * place.spread);
      const double agreement = slope[i] * before[i];
      if (agreement > 0) strides[i] = std::min(1.3 * strides[i], kLargestStride);
      if (agreement < 0) strides[i] = std::max(0.5 * strides[i], kLeastStride);
      if (slope[i] != 0) *place.value += slope[i] > 0 ? strides[i] : -strides[i];
      *place.value = std::clamp(*place.value, place.least, place.most);
      before[i] = slope[i];
    }
  }
  log_density = Likelihood(*this, points, around_mean).value() + log_prior(places);
}

Correlation::Correlation(const Covariance& covariance) : noise_(std::exp(covariance.log_noise)) {
  const double share = share_of(covariance.step);
  for (const double scale : covariance.log_scales) {
    const double weight = 3 * std::exp(-2 * scale);
    weights_.push_back(static_cast<float>((1 - share) * weight));
    steps_.push_back(static_cast<float>(share * weight));
  }
}

double Correlation::operator()(const float* a, const float* b) const {
  float sum = 0;
  for (std::size_t d = 0; d < weights_.size(); ++d) {
    const float difference = a[d] - b[d];
    sum += difference * difference * weights_[d] + (difference != 0 ? steps_[d] : 0);
  }
  const float r = std::sqrt(sum);
  return static_cast<double>((1 + r) * std::exp(-r));
}

}  // namespace autotune
