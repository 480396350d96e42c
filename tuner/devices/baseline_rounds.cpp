#include "tuner/devices/baseline_rounds.hpp"

#include <fmt/format.h>

#include "core/statistics.hpp"
#include "tuner/devices/comparison.hpp"

namespace autotune {
namespace {

// Returns whether the trial of a library's own choice ends the rounds.
bool has_ended(const Trial& own_choice) {
  return !own_choice.ok() && own_choice.status != TrialStatus::wrong_result;
}

}  // namespace

bool BaselineRounds::play() {
  std::vector<Algorithm> played = algorithms_;
  for (std::size_t i = 0; i < played.size() && !has_ended(played.front().trial); ++i) {
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
  if (rounds_ == 0 || has_ended(algorithms_.front().trial)) return best;
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
  return own_choice.ok() || best() != nullptr ? nullptr : &own_choice;
}

std::optional<BaselineTime> BaselineRounds::time(const std::string& library,
                                                 std::span<const double> beside_us) const {
  const Algorithm* const best = this->best();
  if (best == nullptr) return std::nullopt;
  BaselineTime time{.library = library, .version = best->trial.detail, .algorithm = best->number};
  const Interval interval = median_interval(best->samples_us);
  time.median_us = median(best->samples_us);
  time.low_us = interval.low;
  time.high_us = interval.high;
  if (beside_us.empty()) return time;
  const Speedup speedup = speedup_of(beside_us, best->samples_us);
  time.speedup = speedup.median;
  time.speedup_low = speedup.interval.low;
  time.speedup_high = speedup.interval.high;
  return time;
}

std::string BaselineRounds::problem(const std::string& library) const {
  if (const Trial* const failed = failure()) {
    return fmt::format("{} {}: {}", library, in_words(failed->status), failed->detail);
  }
  std::vector<int> wrong;
  for (const Algorithm& algorithm : algorithms_) {
    if (algorithm.trial.status == TrialStatus::wrong_result) wrong.push_back(algorithm.number);
  }
  if (wrong.empty()) return "";
  return fmt::format("{}: wrong results, so left out: algorithm {}", library,
                     fmt::join(wrong, ", "));
}

bool BaselineRounds::is_left(const Algorithm& algorithm) const {
  if (!algorithm.trial.ok() || algorithm.samples_us.size() < rounds_) return false;
  if (algorithm.number == 0 || rounds_ < kFirstRounds) return true;
  return median(algorithm.samples_us) <= kTieMargin * median(best()->samples_us);
}

}  // namespace autotune
