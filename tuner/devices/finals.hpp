// Finals: the best configurations of a search, timed again side by side. The search timed them
// minutes apart, at different clocks and temperatures. Finals sample each finalist once in a round,
// and compare two finalists by the rounds that both have, so that a change of the device affects
// both.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "autotune/baseline_time.hpp"

#include "core/statistics.hpp"
#include "core/trial.hpp"
#include "kernel_templates/kernel_template.hpp"
#include "tuner/devices/trial_runner.hpp"

namespace autotune {

// Medians of one kernel mostly differ by less from process to process, however steady they are in
// each (benchmarks/results/nvidia-h200/2026-11-22-finals).
inline constexpr double kRepeatability = 1.005;

// A configuration that was among the best. Its template and its built kernel outlive it.
struct Finalist {
  const KernelTemplate* kernel = nullptr;
  Configuration configuration;
  Problem problem;
  double screened_us = 0;   // the median in the search
  bool won_before = false;  // for the same problem on the same device class
  const BuiltKernel* built = nullptr;

  // Filled by the finals.
  Trial last;                      // with the verification of the first round
  std::vector<double> samples_us;  // one for each round
};

// Returns the number of finalists, 4 to 32, for a launch of this time: as many as can be sampled in
// the first rounds within about a second, or within six tenths of `seconds`, the time that is left.
[[nodiscard]] std::size_t most_finalists(double launch_us, std::optional<double> seconds);

// The result of finals, as indices into the finalists.
struct Ranking {
  std::size_t winner = 0;
  Interval interval;              // of the winner's median
  std::vector<std::size_t> ties;  // statistically as fast, without the winner
};

// The leader is the fastest of the finalists with the most rounds. Finalists within 0.5 % of it tie
// with it, as do those within 2 % whose intervals overlap its interval, all by the rounds that both
// have. Among the leader and the ties that have not dropped out, a previous winner is kept, so that
// a search that finds nothing better changes nothing. Otherwise the one with the fewest registers
// per block wins, and among equal ones that with the least shared memory. Finalists whose trial is
// not ok or that have no samples are left out; nullopt when none remain.
[[nodiscard]] std::optional<Ranking> rank_finalists(std::span<const Finalist> finalists);

struct FinalsResult {
  std::vector<Finalist> finalists;
  std::optional<Ranking> ranking;        // empty when they ended before three rounds
  std::optional<BaselineTime> baseline;  // with the winner's share, if there is one; no date
  std::string baseline_problem;          // why there is none, or which of its algorithms are wrong
};

struct FinalsTime {
  std::optional<std::chrono::steady_clock::time_point> deadline;  // of the rounds after the third
  std::optional<std::chrono::steady_clock::time_point> end;       // of the last sample
};

// Samples every finalist once a round. After three rounds those that do not tie with the leader
// drop out, and the finals end with the first round after the deadline. A round that the end of the
// time or a request to stop cuts short counts for nothing. A finalist that fails drops out; its
// trial says why. The baseline's algorithms are sampled at the end of each round.
[[nodiscard]] FinalsResult run_finals(const Problem& problem, std::vector<Finalist> finalists,
                                      const std::string& baseline, TrialRunner& runner,
                                      const FinalsTime& time, const std::stop_token& stop);

}  // namespace autotune
