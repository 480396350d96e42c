#include "tuner/search/regret.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "tuner/search/model/time_model.hpp"
#include "tuner/search/strategies/neighbours.hpp"
#include "tuner/search/strategies/untried.hpp"

namespace autotune {
namespace {

// Fewer successes say nothing about the other configurations.
constexpr std::size_t kFewestSuccesses = 50;
// The untried neighbours of the leaders are considered, and a sample that stands for the others.
constexpr std::size_t kSample = 2'000;
constexpr std::size_t kRegretLeaders = 3;
constexpr std::size_t kMostDifferentNear = 2;
constexpr std::size_t kMostNear = 1'000;
// Deviations are enlarged by this factor, since the process has learned from trials that were
// chosen by it, and by the number of trials for each success, since with many failures it has
// learned from the configurations that happened to work.
constexpr double kCaution = 1.4;
constexpr double kRisk = 0.05;

double normal_below(double z) {
  return 0.5 * std::erfc(-z / std::numbers::sqrt2);
}

// The factor by which the process's residuals exceed its deviations; at least 1. It is taken over
// all trials, and for the trial that was faster than predicted by most: the farthest of n normal
// values is sqrt(2 log n) deviations away.
double overconfidence(const GaussianProcess& process) {
  double squares = 0;
  double farthest = 0;
  const std::vector<double> residuals = process.leave_one_out_residuals();
  for (const double residual : residuals) {
    squares += residual * residual;
    farthest = std::max(farthest, -residual);
  }
  const auto count = static_cast<double>(residuals.size());
  return std::max({1.0, std::sqrt(squares / count), farthest / std::sqrt(2 * std::log(count))});
}

std::vector<std::size_t> near_leaders(const std::vector<Configuration>& configurations,
                                      const Untried& untried, const TimeModel& model) {
  std::vector<std::size_t> near;
  for (const std::size_t leader : model.leaders(kRegretLeaders)) {
    for (const Neighbour& neighbour :
         find_neighbours(configurations, untried, leader, kMostDifferentNear, kMostNear)) {
      near.push_back(neighbour.index);
    }
  }
  std::sort(near.begin(), near.end());
  near.erase(std::unique(near.begin(), near.end()), near.end());
  return near;
}

}  // namespace

RegretEstimate::RegretEstimate(const std::vector<Configuration>& configurations,
                               const std::map<std::size_t, Trial>& trials, const Prior& estimate) {
  known_ = trials.size() == configurations.size();
  const auto successes = static_cast<std::size_t>(std::count_if(
      trials.begin(), trials.end(), [](const auto& entry) { return entry.second.ok(); }));
  if (known_ || successes < kFewestSuccesses) return;
  Untried untried(configurations.size(), 1);
  TimeModel model(configurations, estimate);
  for (const auto& [index, trial] : trials) {
    untried.take(index);
    model.report(index, trial);
  }
  known_ = model.can_fit();
  if (!known_) return;
  best_us_ = trials.at(model.leaders(1).front()).measurement.median_us;
  const GaussianProcess process = model.fit();
  const double trials_a_success =
      static_cast<double>(trials.size()) / static_cast<double>(successes);
  const double caution = kCaution * trials_a_success * overconfidence(process);
  const auto consider = [&](std::size_t index, double count) {
    const std::vector<float> point = model.point(index);
    PosteriorCache cache;
    process.update(point.data(), cache);
    untried_.push_back({process.quick_posterior(point.data()).mean + model.prior_mean().loss(index),
                        caution * process.noisy_deviation(cache),
                        count * model.feasibility(point.data())});
  };
  const std::vector<std::size_t> near = near_leaders(configurations, untried, model);
  for (const std::size_t index : near) consider(index, 1);
  std::vector<std::size_t> far;
  for (const std::size_t index : untried.order()) {
    const bool is_near = std::binary_search(near.begin(), near.end(), index);
    if (untried.contains(index) && !is_near) far.push_back(index);
  }
  const std::size_t sampled = std::min(far.size(), kSample);
  for (std::size_t i = 0; i < sampled; ++i) {
    consider(far[i], static_cast<double>(far.size()) / static_cast<double>(sampled));
  }
}

double RegretEstimate::expected_faster(double time_us) const {
  if (!known_) return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (const Expectation& one : untried_) {
    sum += one.count * normal_below((1 - best_us_ / time_us - one.loss) / one.deviation);
  }
  return sum;
}

double regret_bound(const std::vector<RegretEstimate>& estimates, double best_us) {
  const auto is_safe = [&](double share) {
    double expected = 0;
    for (const RegretEstimate& estimate : estimates) {
      expected += estimate.expected_faster(share * best_us);
    }
    return expected <= kRisk;
  };
  if (is_safe(1)) return 1;
  double safe = 0;
  double risky = 1;
  while (risky - safe > 1e-4) {
    const double middle = (safe + risky) / 2;
    (is_safe(middle) ? safe : risky) = middle;
  }
  return safe;
}

}  // namespace autotune
