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

// Fewer successes say nothing of the rest.
constexpr std::size_t kFewestSuccesses = 50;
// Of the untried ones the leaders' neighbours are looked at, and so many others that stand for all.
constexpr std::size_t kSample = 2'000;
constexpr std::size_t kRegretLeaders = 3;
constexpr std::size_t kMostDifferentNear = 2;
constexpr std::size_t kMostNear = 1'000;
// Deviations are taken to be larger than the trials bear out: the process that foretells a trial
// has learned from trials that were chosen by it. And the larger the more trials failed: then it
// has learned from what happened to work, not from what was chosen.
constexpr double kCaution = 1.4;
constexpr double kRisk = 0.05;

double normal_below(double z) {
  return 0.5 * std::erfc(-z / std::numbers::sqrt2);
}

// How much larger the process's errors are than the deviations that it gives; at least 1. On the
// whole, and for the trial that was faster than foretold by most: of so many normal ones the
// farthest is sqrt(2 log n) deviations away.
double overconfidence(const GaussianProcess& process) {
  double squares = 0;
  double farthest = 0;
  const std::vector<double> errors = process.left_out_errors();
  for (const double error : errors) {
    squares += error * error;
    farthest = std::max(farthest, -error);
  }
  const auto count = static_cast<double>(errors.size());
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
  const auto look_at = [&](std::size_t index, double count) {
    const std::vector<float> point = model.point(index);
    GaussianProcess::Settled settled;
    process.settle(point.data(), settled);
    untried_.push_back({process.rough(point.data()).mean + model.trend().loss(index),
                        caution * process.noisy_deviation(settled),
                        count * model.chance(point.data())});
  };
  const std::vector<std::size_t> near = near_leaders(configurations, untried, model);
  for (const std::size_t index : near) look_at(index, 1);
  std::vector<std::size_t> far;
  for (const std::size_t index : untried.order()) {
    const bool is_near = std::binary_search(near.begin(), near.end(), index);
    if (untried.contains(index) && !is_near) far.push_back(index);
  }
  const std::size_t looked_at = std::min(far.size(), kSample);
  for (std::size_t i = 0; i < looked_at; ++i) {
    look_at(far[i], static_cast<double>(far.size()) / static_cast<double>(looked_at));
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
