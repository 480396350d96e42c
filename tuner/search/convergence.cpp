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

// Leaders are apart if this many of those after the best differ from it in so many parameters, and
// the last is slower by such a share.
constexpr std::size_t kLeaders = 10;
constexpr std::size_t kFarLeaders = 5;
constexpr std::size_t kFar = 3;
constexpr double kClearlySlower = 0.05;

std::size_t different_values(const Configuration& a, const Configuration& b) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.values().size() && i < b.values().size(); ++i) {
    count += a.values()[i] != b.values()[i] ? 1 : 0;
  }
  return count;
}

}  // namespace

void Convergence::report(const Trial& trial) {
  if (patience_ == 0) return;
  ++trials_;
  if (!trial.ok()) return;
  take_leader(trial);
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

void Convergence::take_leader(const Trial& trial) {
  const double time_us = trial.measurement.median_us;
  if (leaders_.size() > kLeaders && leaders_.back().time_us <= time_us) return;
  const auto place = std::ranges::upper_bound(leaders_, time_us, {}, &Leader::time_us);
  leaders_.insert(place, {time_us, trial.template_name, trial.configuration});
  if (leaders_.size() > kLeaders + 1) leaders_.pop_back();
}

bool Convergence::leaders_are_apart() const {
  // A search that begins with a shipped winner begins in the right part.
  if (patience_ < kRecordedPatience || leaders_.size() <= kLeaders) return false;
  const Leader& best = leaders_.front();
  if (best.time_us > (1 - kClearlySlower) * leaders_.back().time_us) return false;
  const auto is_far = [&](const Leader& leader) {
    return leader.template_name == best.template_name &&
           different_values(leader.configuration, best.configuration) >= kFar;
  };
  return static_cast<std::size_t>(std::ranges::count_if(leaders_, is_far)) >= kFarLeaders;
}

double Convergence::reached_share() const {
  if (floor_us_ == 0 || leaders_are_apart()) return 0;
  const double share = std::min(1.0, floor_us_ / times_us_.front());
  return share < kLeastSaid ? 0 : share;
}

}  // namespace autotune
