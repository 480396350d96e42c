// The best of a search, timed again side by side. Screenings were taken minutes apart at different
// clocks and temperatures; finals take one sample of each finalist in turn, round after round, and
// two are compared by the rounds that both have played: what changes with time changes for both.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "core/statistics.hpp"
#include "core/trial.hpp"
#include "kernel_templates/kernel_template.hpp"
#include "tuner/compile/kernel_builder.hpp"
#include "tuner/devices/trial_runner.hpp"
#include "tuner/run/search_task.hpp"

namespace autotune {

// No finalist is further behind the best trial than this.
inline constexpr double kFinalistMargin = 1.05;

// A configuration that was among the best. Its kernel outlives it.
struct Finalist {
  const KernelTemplate* kernel = nullptr;
  Configuration configuration;
  Problem problem;
  double screened_us = 0;   // its median in the search
  bool won_before = false;  // for the same problem on the same silicon
  const BuiltKernel* built = nullptr;

  // Filled by the finals.
  Trial last;                      // with the verification of the first round
  std::vector<double> samples_us;  // one a round
};

// The correct trials of a problem's tasks that were sampled to the end and are close to the best:
// those that won before, then the others, fastest first. Not yet built, and more than will play.
[[nodiscard]] std::vector<Finalist> choose_finalists(const std::vector<SearchTask*>& tasks);
// How many should play, 4 to 32, when a launch takes so long: what fits into the first rounds of
// about a second, or of six tenths of the time that there is.
[[nodiscard]] std::size_t most_finalists(double launch_us, std::optional<double> seconds);
// Has the first of them built, at most so many, and leaves out the rest. Of those that run the same
// machine code, launched alike, all but the first are left out too.
void build_finalists(std::vector<Finalist>& finalists, std::size_t most,
                     const std::function<const BuiltKernel&(const Finalist&)>& build);

// What the finals say. Indices into the finalists.
struct Ranking {
  std::size_t winner = 0;
  Interval interval;              // of the winner's median
  std::vector<std::size_t> ties;  // statistically as fast, the winner left out
};

// The leader is the fastest of those that played most rounds. Finalists within 0.5 % of it tie with
// it, as do those within 2 % whose intervals overlap its interval, all by the rounds that both
// played. Of these, but not of those that have dropped out, one that won before stays the winner,
// so that a search that finds nothing better changes nothing; else the cheapest wins: fewest
// registers a block, then least shared memory. Finalists whose trial is not ok, or without samples,
// are left out; nullopt when none remain.
[[nodiscard]] std::optional<Ranking> rank_finalists(std::span<const Finalist> finalists);

struct FinalsResult {
  std::optional<Ranking> ranking;
  std::optional<double> baseline_us;  // median in the same rounds
};

// Times every finalist once a round. After three rounds those that do not tie with the leader drop
// out; from then on it ends with the first round behind the deadline. A finalist that fails is out;
// its trial says why. Without a ranking when stopped before three rounds. What an earlier call
// found is forgotten.
[[nodiscard]] FinalsResult run_finals(const Problem& problem, std::vector<Finalist>& finalists,
                                      std::string baseline, TrialRunner& runner,
                                      std::optional<std::chrono::steady_clock::time_point> deadline,
                                      const std::stop_token& stop);

}  // namespace autotune
