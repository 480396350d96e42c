// Replays of strategies over recorded spaces: the best that each has found after each trial.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "autotune/error.hpp"

#include "core/thread_pool.hpp"
#include "tuner/replay/recorded_space.hpp"
#include "tuner/search/strategy.hpp"

namespace autotune {

struct ReplayOptions {
  std::size_t trials = 400;   // of each run, at most
  std::size_t repeats = 100;  // runs, each with a seed of its own
  std::uint64_t seed = 1;
  std::size_t in_flight = 1;        // trials proposed before the first of them is reported
  bool use_shipped_winners = true;  // false: a prior is not taken from the winners that ship
  std::stop_token stop = {};
};

// Thrown by replays whose stop was asked for.
class ReplayStopped : public Error {
 public:
  ReplayStopped() : Error("the replay was stopped") {}
};

// One run. Gives the part of the optimum after each trial: the best time of the space over the best
// time found, 0 while no trial is correct. The run ends with its trials, with the space, or when
// `goes_on`, which gets each trial's index and the part after it, returns false.
[[nodiscard]] std::vector<double> replay_once(
    const RecordedSpace& space, SearchStrategy& strategy, const ReplayOptions& options,
    const std::function<bool(std::size_t, double)>& goes_on = [](std::size_t, double) {
      return true;
    });

// Calls `run` with the number and the seed of each repeat, on all threads, and `on_repeat` after
// each, one call at a time. Their exceptions pass through. Throws ReplayStopped when a stop is
// asked for before the last repeat has begun.
void for_each_repeat(const ReplayOptions& options, ThreadPool& threads,
                     const std::function<void()>& on_repeat,
                     const std::function<void(std::size_t, std::uint64_t)>& run);

// The numbers of trials at which a curve is read: 10, 25, 50, 100, twice as many and so on, and
// all.
[[nodiscard]] std::vector<std::size_t> checkpoints(std::size_t trials);

// Parts of the optimum at each checkpoint, over the repeats. A run that ended earlier keeps its
// last part.
struct ReplayCurve {
  std::vector<double> mean;
  std::vector<double> low;  // the 5th percentile, by nearest rank
};

// Calls `on_repeat` after each run, one call at a time. Exceptions of a strategy pass through. The
// same arguments give the same curve, whatever the number of threads.
[[nodiscard]] ReplayCurve replay(
    const RecordedSpace& space, const std::string& strategy, const ReplayOptions& options,
    ThreadPool& threads, const std::function<void()>& on_repeat = [] {});

// The means of the curves' means and percentiles.
[[nodiscard]] ReplayCurve average(const std::vector<ReplayCurve>& curves);

}  // namespace autotune
