#include "tuner/devices/baseline_rounds.hpp"

#include "core/statistics.hpp"

namespace autotune {

bool BaselineRounds::play() {
  std::vector<Algorithm> played = algorithms_;
  for (std::size_t i = 0; i < played.size() && played.front().trial.ok(); ++i) {
    if (!is_left(played[i])) continue;
    std::optional<Trial> trial = sample_(played[i].number);
    if (!trial) return false;
    // The first round finds out how many there are.
    const bool was_last = trial->status == TrialStatus::load_failed;
    if (rounds_ == 0 && !was_last) played.push_back({.number = static_cast<int>(i) + 1});
    if (trial->ok()) played[i].samples_us.push_back(trial->measurement.median_us);
    if (rounds_ == 0 || !trial->ok()) played[i].trial = *std::move(trial);
  }
  algorithms_ = std::move(played);
  ++rounds_;
  return true;
}

const BaselineRounds::Algorithm* BaselineRounds::best() const {
  const Algorithm* best = nullptr;
  if (rounds_ == 0 || failure() != nullptr) return best;
  for (const Algorithm& algorithm : algorithms_) {
    if (!algorithm.trial.ok() || algorithm.samples_us.size() < rounds_) continue;
    if (best == nullptr || median(algorithm.samples_us) < median(best->samples_us)) {
      best = &algorithm;
    }
  }
  return best;
}

const Trial* BaselineRounds::failure() const {
  const Trial& own_choice = algorithms_.front().trial;
  return own_choice.ok() ? nullptr : &own_choice;
}

bool BaselineRounds::is_left(const Algorithm& algorithm) const {
  if (!algorithm.trial.ok() || algorithm.samples_us.size() < rounds_) return false;
  if (algorithm.number == 0 || rounds_ < kFirstRounds) return true;
  return median(algorithm.samples_us) <= kTieMargin * median(best()->samples_us);
}

}  // namespace autotune
