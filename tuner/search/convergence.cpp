#include "tuner/search/convergence.hpp"

#include <algorithm>
#include <cmath>

namespace autotune {
namespace {

// A smaller gain is mostly noise.
constexpr double kLeastGain = 0.001;
constexpr std::size_t kFewestTrials = 20;  // correct ones; fewer do not show a space's range

// Of the searches that were said to have reached less, more than one in 20 had not.
constexpr double kLeastSaid = 0.97;

}  // namespace

void Convergence::report(const Trial& trial) {
  if (patience_ == 0) return;
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
  const double gainless = correct * static_cast<double>(since_gain_);
  const double missed = range * std::exp(-gainless / patience_);
  floor_us_ = std::max(floor_us_, (1 - missed) * best_us);
}

double Convergence::reached_share() const {
  if (floor_us_ == 0) return 0;
  const double share = std::min(1.0, floor_us_ / times_us_.front());
  return share < kLeastSaid ? 0 : share;
}

}  // namespace autotune
