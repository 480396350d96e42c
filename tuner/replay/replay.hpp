// Strategies run over recorded spaces: what they would have found after so many trials.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/thread_pool.hpp"
#include "tuner/replay/recorded_space.hpp"
#include "tuner/search/strategy.hpp"

namespace autotune {

struct ReplayOptions {
  std::size_t trials = 400;   // at most, of each run
  std::size_t repeats = 100;  // runs, each with a seed of its own
  std::uint64_t seed = 1;
  std::size_t in_flight = 1;  // trials that are asked for before the first of them is reported
  bool use_shipped_winners = true;  // false: a prior is not taken from the winners that ship
};

// One run: the part of the optimum (the best time over the best that was found; 0 while none is
// correct) after each trial, until the trials or the space are used up or `goes_on`, which is given
// each trial's index and the part after it, says no.
[[nodiscard]] std::vector<double> replay_once(
    const RecordedSpace& space, SearchStrategy& strategy, const ReplayOptions& options,
    const std::function<bool(std::size_t, double)>& goes_on = [](std::size_t, double) {
      return true;
    });

// Calls `run` with the number and the seed of each repeat, on all threads, and `on_repeat` after
// each, by one thread at a time. What they throw passes through.
void for_each_repeat(const ReplayOptions& options, ThreadPool& threads,
                     const std::function<void()>& on_repeat,
                     const std::function<void(std::size_t, std::uint64_t)>& run);

// Where a curve is read: after 10, 25, 50, 100 trials, twice as many and so on, and all.
[[nodiscard]] std::vector<std::size_t> checkpoints(std::size_t trials);

// Parts of the optimum at each checkpoint, over the repeats. A run that ended earlier stays at what
// it had.
struct ReplayCurve {
  std::vector<double> mean;
  std::vector<double> low;  // the 5th percentile, by nearest rank
};

// `on_repeat` is called after each run, by one thread at a time. What a strategy throws passes
// through. The same arguments give the same curve, whatever the number of threads.
[[nodiscard]] ReplayCurve replay(
    const RecordedSpace& space, const std::string& strategy, const ReplayOptions& options,
    ThreadPool& threads, const std::function<void()>& on_repeat = [] {});

// Means of the means and of the percentiles.
[[nodiscard]] ReplayCurve average(const std::vector<ReplayCurve>& curves);

}  // namespace autotune
