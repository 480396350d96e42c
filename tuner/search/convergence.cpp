#include "tuner/search/convergence.hpp"

#include <algorithm>
#include <cmath>

namespace autotune {
namespace {

// From benchmarks/statement/calibrate.py, whose output is
// benchmarks/results/statement/calibration.txt: while the best time stays as it is, what a search
// may still miss falls by the factor e with each of so many correct trials.
constexpr double kPatience = 55;
// A smaller gain is mostly noise.
constexpr double kLeastGain = 0.001;
constexpr std::size_t kFewestTrials = 20;  // correct ones; fewer do not show a space's range

// Of the searches that were said to have reached less, more than one in 20 had not.
constexpr double kLeastSaid = 0.97;

}  // namespace

void Convergence::report(const Trial& trial) {
  if (!is_known_) return;
  ++trials_;
  if (!trial.ok()) return;
  const double time_us = trial.measurement.median_us;
  times_us_.insert(std::upper_bound(times_us_.begin(), times_us_.end(), time_us), time_us);
  const double best_us = times_us_.front();
  ++since_gain_;
  if (best_us < (1 - kLeastGain) * gained_us_) {
    gained_us_ = best_us;
    since_gain_ = 0;
  }
  if (floor_us_ > best_us) floor_us_ = 0;  // it was wrong
  if (times_us_.size() < kFewestTrials) return;
  // The share of the best rate that a tenth of the trials loses: where all are nearly as fast, so
  // is the best of those that were not tried.
  const double slow_us = times_us_[(times_us_.size() - 1) * 9 / 10];
  const double range = 1 - best_us / slow_us;
  // Where many fail, those that work are few and chosen by chance.
  const double correct = static_cast<double>(times_us_.size()) / static_cast<double>(trials_);
  const double patience = kPatience / correct;
  const double missed = range * std::exp(-static_cast<double>(since_gain_) / patience);
  floor_us_ = std::max(floor_us_, (1 - missed) * best_us);
}

double reached_share(double floor_us, double best_us) {
  const double share = std::min(1.0, floor_us / best_us);
  return share < kLeastSaid ? 0 : share;
}

}  // namespace autotune
