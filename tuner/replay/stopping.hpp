// The calibration of the rule behind `--until`: replays that end when the rule says that a share of
// the best is reached, and how often that is right.
#pragma once

#include <functional>
#include <string>

#include "tuner/replay/replay.hpp"

namespace autotune {

struct StoppingRecord {
  double stopped = 0;      // share of the runs that ended before their trials and their space did
  double mean_trials = 0;  // of those runs
  double right = 0;        // share of those runs in which the share was reached
};

[[nodiscard]] StoppingRecord replay_until(
    double share, const RecordedSpace& space, const std::string& strategy,
    const ReplayOptions& options, ThreadPool& threads,
    const std::function<void()>& on_repeat = [] {});

}  // namespace autotune
