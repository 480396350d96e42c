#include "tuner/devices/finals.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace autotune {
namespace {

constexpr int kRounds = 11;
// No finalist drops out before this many rounds.
constexpr int kFirstRounds = 3;
constexpr std::size_t kFewestFinalists = 4;
constexpr std::size_t kMostFinalists = 32;
// The first rounds should take a second, or less where time is short. Verification is not included.
constexpr double kFirstRounds_s = 1;
constexpr double kFirstRoundsShare = 0.6;  // of the time that is left
// A sample takes 2 ms or a launch, some launches before it, and as much again for everything else.
constexpr double kSample_us = 4000;
constexpr double kLaunches = 3;

constexpr double kTieMargin = 1.02;
// Medians of one kernel mostly differ by less from process to process, however steady they are in
// each (benchmarks/results/nvidia-h200/2026-11-22-finals).
constexpr double kRepeatability = 1.005;

// The resources that a configuration takes from an SM. Among equally fast ones the cheapest leaves
// most to other kernels and is the least likely to suffer from a small change of the compiler.
auto cost(const Finalist& finalist) {
  const LaunchGeometry geometry =
      finalist.kernel->geometry(finalist.configuration, finalist.problem);
  return std::tuple(finalist.last.resources.registers * geometry.threads(),
                    finalist.last.resources.shared_bytes + geometry.dynamic_shared_bytes,
                    finalist.configuration);
}

bool has_samples(const Finalist& finalist) {
  return finalist.last.ok() && !finalist.samples_us.empty();
}

// The finalist with the least median among those with the most rounds; nullptr without samples.
const Finalist* leader_of(std::span<const Finalist> finalists) {
  const auto rank = [](const Finalist& finalist) {
    return std::tuple(-static_cast<int>(finalist.samples_us.size()), median(finalist.samples_us));
  };
  const Finalist* leader = nullptr;
  for (const Finalist& finalist : finalists) {
    if (!has_samples(finalist)) continue;
    if (leader == nullptr || rank(finalist) < rank(*leader)) leader = &finalist;
  }
  return leader;
}

// Compares the rounds that both have: a later change of the device's state says nothing about which
// of them was faster.
bool ties_with(const Finalist& leader, const Finalist& other) {
  const std::size_t rounds = std::min(leader.samples_us.size(), other.samples_us.size());
  const auto own = std::span(leader.samples_us).first(rounds);
  const auto others = std::span(other.samples_us).first(rounds);
  const double ratio = median(others) / median(own);
  if (ratio <= kRepeatability) return true;
  return ratio <= kTieMargin && median_interval(others).low <= median_interval(own).high;
}

// The finalists that have not dropped out before this round.
std::vector<Finalist*> left_in_round(int round, std::vector<Finalist>& finalists) {
  const Finalist* leader = round < kFirstRounds ? nullptr : leader_of(finalists);
  std::vector<Finalist*> left;
  for (Finalist& finalist : finalists) {
    const bool sampled_in_all = finalist.samples_us.size() == static_cast<std::size_t>(round);
    const bool is_left = round == 0 || (sampled_in_all && has_samples(finalist));
    if (is_left && (leader == nullptr || ties_with(*leader, finalist))) left.push_back(&finalist);
  }
  return left;
}

// Takes one sample of a finalist, which is verified in the first round.
void sample(Finalist& finalist, bool first_round, TrialRunner& runner) {
  const MeasureOptions options{.verify = first_round, .timing = {.samples = 1}};
  Trial trial = runner.run(*finalist.kernel, finalist.configuration, finalist.problem,
                           *finalist.built, options);
  if (trial.ok()) finalist.samples_us.push_back(trial.measurement.median_us);
  if (!first_round && trial.ok()) trial.verification = finalist.last.verification;
  finalist.last = std::move(trial);
}

}  // namespace

std::size_t most_finalists(double launch_us, std::optional<double> seconds) {
  const double first_rounds_s =
      std::min(kFirstRounds_s, kFirstRoundsShare * std::max(0.0, seconds.value_or(1e9)));
  const double fitting =
      1e6 * first_rounds_s / (kFirstRounds * (kSample_us + kLaunches * launch_us));
  return std::clamp(static_cast<std::size_t>(fitting), kFewestFinalists, kMostFinalists);
}

std::optional<Ranking> rank_finalists(std::span<const Finalist> finalists) {
  const Finalist* leader = leader_of(finalists);
  if (leader == nullptr) return std::nullopt;
  std::vector<std::size_t> tied;
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    if (has_samples(finalists[i]) && ties_with(*leader, finalists[i])) tied.push_back(i);
  }
  const auto preference = [&](std::size_t i) {
    const Finalist& finalist = finalists[i];
    const bool dropped_out = finalist.samples_us.size() < leader->samples_us.size();
    return std::tuple(dropped_out, !finalist.won_before, cost(finalist));
  };
  const std::size_t winner = *std::min_element(
      tied.begin(), tied.end(),
      [&](std::size_t a, std::size_t b) { return preference(a) < preference(b); });
  std::erase(tied, winner);
  return Ranking{winner, median_interval(finalists[winner].samples_us), std::move(tied)};
}

FinalsResult run_finals(const Problem& problem, std::vector<Finalist> finalists,
                        std::string baseline, TrialRunner& runner,
                        std::optional<std::chrono::steady_clock::time_point> deadline,
                        const std::stop_token& stop) {
  std::vector<double> baseline_us;
  int round = 0;
  const auto goes_on = [&] {
    if (round == kRounds || stop.stop_requested()) return false;
    return round < kFirstRounds || !deadline || std::chrono::steady_clock::now() < *deadline;
  };
  for (; goes_on(); ++round) {
    for (Finalist* finalist : left_in_round(round, finalists)) {
      sample(*finalist, round == 0, runner);
    }
    if (!baseline.empty()) {
      const Operation& operation = *finalists.front().kernel->operation;
      const Trial trial = runner.run_baseline(baseline, operation, problem,
                                              {.verify = round == 0, .timing = {.samples = 1}});
      if (!trial.ok()) baseline.clear();
      if (trial.ok()) baseline_us.push_back(trial.measurement.median_us);
    }
  }
  FinalsResult result;
  if (round >= kFirstRounds) result.ranking = rank_finalists(finalists);
  if (!baseline_us.empty()) result.baseline_us = median(baseline_us);
  result.finalists = std::move(finalists);
  return result;
}

}  // namespace autotune
