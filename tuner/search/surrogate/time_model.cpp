#include "tuner/search/surrogate/time_model.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace autotune {
namespace {

// The cost of a fit is the cube of its points. From more trials than these it takes the fastest as
// one half of the points, and an even choice of the others.
constexpr std::size_t kMostPoints = 250;
constexpr std::size_t kMostLearningPoints = 128;
constexpr std::size_t kOftenUntil = 30;
constexpr std::size_t kFewestForStep = 16;
constexpr double kLeastWeight = 0.02;  // of a covariance; less is not worth a process
// The process is overconfident where some configurations fail and some work.
constexpr double kValidityDoubt = 0.2;
// The latest reports are from where the search is now.
constexpr std::size_t kMostReports = 200;

}  // namespace

TimeModel::TimeModel(const std::vector<Configuration>& configurations, Prior estimate)
    : configurations_(configurations), prior_mean_(std::move(estimate), configurations.size()) {}

const Encoding& TimeModel::encoding() const {
  if (!encoding_) encoding_.emplace(configurations_);
  return *encoding_;
}

void TimeModel::report(std::size_t index, const Trial& trial) {
  const bool works = trial.ok() && trial.measurement.median_us > 0;
  history_.push_back({index, works});
  if (!works) return;
  const Success success{trial.measurement.median_us, index};
  successes_.insert(std::upper_bound(successes_.begin(), successes_.end(), success), success);
}

std::vector<std::size_t> TimeModel::leaders(std::size_t count) const {
  std::vector<std::size_t> indices;
  for (const Success& success : successes_) {
    if (indices.size() == count) break;
    indices.push_back(success.index);
  }
  return indices;
}

ProcessMixture TimeModel::fit() {
  const std::vector<Success> chosen = chosen_successes();
  fitted_best_us_ = chosen.front().time_us;
  Points points;
  std::vector<std::size_t> indices;
  std::vector<double> losses;
  for (const Success& success : chosen) {
    const std::vector<float> own = point(success.index);
    points.insert(points.end(), own.begin(), own.end());
    indices.push_back(success.index);
    losses.push_back(loss(success.time_us));
  }
  prior_mean_.fit(indices, losses);
  for (std::size_t i = 0; i < losses.size(); ++i) losses[i] -= prior_mean_.loss(indices[i]);
  covariance_.learn_when_due(points, losses, successes());
  fit_validity();
  return {covariance_.weighed(), points, losses};
}

std::vector<float> TimeModel::point(std::size_t index) const {
  std::vector<float> coordinates(encoding().dimensions());
  encoding().write(configurations_[index], coordinates.data());
  return coordinates;
}

double TimeModel::feasibility(const float* point) const {
  if (!validity_) return 1;
  const QuickPosterior quick = validity_->quick_posterior(point);
  const double doubt = std::hypot(quick.deviation, kValidityDoubt);
  return 0.5 * std::erfc((0.5 - quick.mean) / doubt / std::numbers::sqrt2);
}

std::vector<TimeModel::Success> TimeModel::chosen_successes() const {
  if (successes_.size() <= kMostPoints) return successes_;
  const std::size_t fastest = kMostPoints / 2;
  std::vector<Success> chosen(successes_.begin(), successes_.begin() + fastest);
  const std::size_t others = successes_.size() - fastest;
  for (std::size_t i = 0; i < kMostPoints - fastest; ++i) {
    chosen.push_back(successes_[fastest + i * others / (kMostPoints - fastest)]);
  }
  return chosen;
}

void TimeModel::fit_validity() {
  if (successes() == reports()) return;
  Points points;
  std::vector<double> works;
  for (std::size_t i = reports() - std::min(reports(), kMostReports); i < reports(); ++i) {
    const std::vector<float> own = point(history_[i].index);
    points.insert(points.end(), own.begin(), own.end());
    works.push_back(history_[i].works ? 1 : 0);
  }
  validity_covariance_.learn_when_due(points, works, reports());
  validity_.emplace(validity_covariance_.weighed(), points, works);
}

void LearnedCovariance::learn_when_due(const Points& points, const std::vector<double>& values,
                                       std::size_t trials) {
  if (trials >= kOftenUntil && trials < learned_from_ + learned_from_ / 4) return;
  const std::size_t dimensions = points.size() / values.size();
  if (learned_from_ == 0) {
    smooth_ = Covariance::smooth(dimensions);
    stepped_ = Covariance::stepped(dimensions);
  }
  learned_from_ = trials;
  const std::size_t count = std::min(values.size(), kMostLearningPoints);
  Points some;
  std::vector<double> their_values;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t from = i * values.size() / count;
    const auto* first = &points[from * dimensions];
    some.insert(some.end(), first, first + dimensions);
    their_values.push_back(values[from]);
  }
  smooth_.learn(some, their_values);
  if (count < kFewestForStep) return;
  stepped_.learn(some, their_values);
  penalty_ = 0.5 * std::log(static_cast<double>(count));
}

std::vector<WeighedCovariance> LearnedCovariance::weighed() const {
  const double odds = std::exp(stepped_.log_density - smooth_.log_density - penalty_);
  const double of_step = std::isfinite(odds) ? odds / (1 + odds) : 1;
  std::vector<WeighedCovariance> result;
  if (of_step < 1 - kLeastWeight) result.push_back({smooth_, 1 - of_step});
  if (of_step > kLeastWeight) result.push_back({stepped_, of_step});
  return result;
}

}  // namespace autotune
