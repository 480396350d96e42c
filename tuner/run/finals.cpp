#include "tuner/run/finals.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "tuner/devices/code_cache.hpp"

namespace autotune {
namespace {

constexpr int kRounds = 11;
// So many are played by all.
constexpr int kFirstRounds = 3;
constexpr std::size_t kFewestFinalists = 4;
constexpr std::size_t kMostFinalists = 32;
// What the first rounds should take: a second, or less where time is short. Verification comes on
// top of it.
constexpr double kFirstRounds_s = 1;
constexpr double kFirstRoundsShare = 0.6;  // of the time there is
// A sample takes 2 ms or a launch, some launches before it, and as much for all around it.
constexpr double kSample_us = 4000;
constexpr double kLaunches = 3;

constexpr double kTieMargin = 1.02;
// Medians of one kernel mostly differ by less from process to process, however steady they are in
// each (benchmarks/results/nvidia-h200/2026-11-22-finals).
constexpr double kRepeatability = 1.005;

// What a configuration takes from an SM: of equally fast ones the cheapest leaves most to others
// and is the least likely to be hurt by a small change of the compiler.
auto cost(const Finalist& finalist) {
  const LaunchGeometry geometry =
      finalist.kernel->geometry(finalist.configuration, finalist.problem);
  return std::tuple(finalist.last.resources.registers * geometry.threads(),
                    finalist.last.resources.shared_bytes + geometry.dynamic_shared_bytes,
                    finalist.configuration);
}

bool in_the_running(const Finalist& finalist) {
  return finalist.last.ok() && !finalist.samples_us.empty();
}

// Of those in the running that have played most rounds the one with the least median; nullptr when
// there is none.
const Finalist* leader_of(std::span<const Finalist> finalists) {
  const auto rank = [](const Finalist& finalist) {
    return std::tuple(-static_cast<int>(finalist.samples_us.size()), median(finalist.samples_us));
  };
  const Finalist* leader = nullptr;
  for (const Finalist& finalist : finalists) {
    if (!in_the_running(finalist)) continue;
    if (leader == nullptr || rank(finalist) < rank(*leader)) leader = &finalist;
  }
  return leader;
}

// By the rounds that both have played: what happens to the device later says nothing of who was
// faster.
bool ties_with(const Finalist& leader, const Finalist& other) {
  const std::size_t rounds = std::min(leader.samples_us.size(), other.samples_us.size());
  const auto own = std::span(leader.samples_us).first(rounds);
  const auto others = std::span(other.samples_us).first(rounds);
  const double ratio = median(others) / median(own);
  if (ratio <= kRepeatability) return true;
  return ratio <= kTieMargin && median_interval(others).low <= median_interval(own).high;
}

// One sample of a finalist; verified in the first round.
void play(Finalist& finalist, bool first_round, TrialRunner& runner) {
  const MeasureOptions options{.verify = first_round, .timing = {.samples = 1}};
  Trial trial = runner.run(*finalist.kernel, finalist.configuration, finalist.problem,
                           *finalist.built, options);
  if (trial.ok()) finalist.samples_us.push_back(trial.measurement.median_us);
  if (!first_round && trial.ok()) trial.verification = finalist.last.verification;
  finalist.last = std::move(trial);
}

}  // namespace

std::vector<Finalist> choose_finalists(const std::vector<SearchTask*>& tasks) {
  std::vector<Finalist> finalists;
  for (const SearchTask* task : tasks) {
    for (const auto& [index, trial] : task->trials()) {
      if (!trial.ok() || trial.measurement.screened_out) continue;
      finalists.push_back({.kernel = &task->kernel(),
                           .configuration = trial.configuration,
                           .problem = trial.problem,
                           .screened_us = trial.measurement.median_us,
                           .won_before = task->has_won(index)});
    }
  }
  if (finalists.empty()) return finalists;
  std::stable_sort(finalists.begin(), finalists.end(), [](const Finalist& a, const Finalist& b) {
    return a.screened_us < b.screened_us;
  });
  const double limit_us = kFinalistMargin * finalists.front().screened_us;
  std::erase_if(finalists, [&](const Finalist& f) { return f.screened_us > limit_us; });
  std::stable_partition(finalists.begin(), finalists.end(),
                        [](const Finalist& finalist) { return finalist.won_before; });
  return finalists;
}

std::size_t most_finalists(double launch_us, std::optional<double> seconds) {
  const double first_rounds_s =
      std::min(kFirstRounds_s, kFirstRoundsShare * std::max(0.0, seconds.value_or(1e9)));
  const double fitting =
      1e6 * first_rounds_s / (kFirstRounds * (kSample_us + kLaunches * launch_us));
  return std::clamp(static_cast<std::size_t>(fitting), kFewestFinalists, kMostFinalists);
}

void build_finalists(std::vector<Finalist>& finalists, std::size_t most,
                     const std::function<const BuiltKernel&(const Finalist&)>& build) {
  std::vector<Finalist> built;
  std::set<std::string> keys;
  for (Finalist& finalist : finalists) {
    if (built.size() == most) break;
    finalist.built = &build(finalist);
    const LaunchGeometry geometry =
        finalist.kernel->geometry(finalist.configuration, finalist.problem);
    const bool is_new = keys.insert(execution_key(finalist.problem, finalist.kernel->name,
                                                  finalist.built->code, geometry))
                            .second;
    if (is_new) built.push_back(std::move(finalist));
  }
  finalists = std::move(built);
}

std::optional<Ranking> rank_finalists(std::span<const Finalist> finalists) {
  const Finalist* leader = leader_of(finalists);
  if (leader == nullptr) return std::nullopt;
  std::vector<std::size_t> tied;
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    if (in_the_running(finalists[i]) && ties_with(*leader, finalists[i])) tied.push_back(i);
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

FinalsResult run_finals(const Problem& problem, std::vector<Finalist>& finalists,
                        std::string baseline, TrialRunner& runner,
                        std::optional<std::chrono::steady_clock::time_point> deadline,
                        const std::stop_token& stop) {
  for (Finalist& finalist : finalists) finalist.samples_us.clear();
  std::vector<double> baseline_us;
  int round = 0;
  const auto goes_on = [&] {
    if (round == kRounds || stop.stop_requested()) return false;
    return round < kFirstRounds || !deadline || std::chrono::steady_clock::now() < *deadline;
  };
  for (; goes_on(); ++round) {
    const Finalist* leader = round < kFirstRounds ? nullptr : leader_of(finalists);
    std::vector<Finalist*> playing;
    for (Finalist& finalist : finalists) {
      const bool played_all = finalist.samples_us.size() == static_cast<std::size_t>(round);
      const bool is_left = round == 0 || (played_all && in_the_running(finalist));
      if (is_left && (leader == nullptr || ties_with(*leader, finalist))) {
        playing.push_back(&finalist);
      }
    }
    for (Finalist* finalist : playing) play(*finalist, round == 0, runner);
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
  return result;
}

}  // namespace autotune
