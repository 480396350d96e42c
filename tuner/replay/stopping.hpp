// How well the rule behind `--until` is calibrated: replays that end where it says that a share of
// the best is reached, and whether it was.
#pragma once

#include <functional>
#include <string>

#include "tuner/replay/replay.hpp"

namespace autotune {

struct StoppingRecord {
  double stopped = 0;      // of the runs, before the trials and the space were used up
  double mean_trials = 0;  // of those, at the end
  double right = 0;        // of those: the share was reached
};

[[nodiscard]] StoppingRecord replay_until(
    double share, const RecordedSpace& space, const std::string& strategy,
    const ReplayOptions& options, ThreadPool& threads,
    const std::function<void()>& on_repeat = [] {});

}  // namespace autotune
