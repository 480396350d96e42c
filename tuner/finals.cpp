#include "tuner/finals.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "tuner/measured_code.hpp"

namespace autotune {
namespace {

constexpr int kRounds = 11;
// So many are played by all.
constexpr int kFirstRounds = 3;
constexpr double kFirstRounds_us = 1e6;
constexpr std::size_t kFewestFinalists = 6;

constexpr double kTieMargin = 1.02;
// Medians of one kernel differ by so much from process to process, however steady they are in each
// (benchmarks/results/nvidia-h200/2026-11-22-finals).
constexpr double kRepeatability = 1.005;

// A sample takes 2 ms or a launch, and some launches before it.
std::size_t most_finalists(double launch_us) {
  const double one_us = 2000 + 3 * launch_us;
  const double fitting = kFirstRounds_us / (kFirstRounds * one_us);
  return std::clamp(static_cast<std::size_t>(fitting), kFewestFinalists, kMostFinalists);
}

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

// The one in the running with the least median; nullptr when none is.
const Finalist* fastest_of(std::span<const Finalist> finalists) {
  const Finalist* fastest = nullptr;
  for (const Finalist& finalist : finalists) {
    if (!in_the_running(finalist)) continue;
    if (fastest == nullptr || median(finalist.samples_us) < median(fastest->samples_us)) {
      fastest = &finalist;
    }
  }
  return fastest;
}

bool ties_with(const Finalist& fastest, const Finalist& other) {
  const double ratio = median(other.samples_us) / median(fastest.samples_us);
  if (ratio <= kRepeatability) return true;
  return ratio <= kTieMargin &&
         median_interval(other.samples_us).low <= median_interval(fastest.samples_us).high;
}

// One sample of a finalist; verified in the first round.
void play(Finalist& finalist, bool first_round, TrialRunner& runner) {
  const MeasureOptions options{.verify = first_round, .samples = 1};
  Trial trial = runner.run(*finalist.kernel, finalist.configuration, finalist.problem,
                           *finalist.built, options);
  if (trial.ok()) finalist.samples_us.push_back(trial.measurement.median_us);
  if (!first_round && trial.ok()) trial.verification = finalist.last.verification;
  finalist.last = std::move(trial);
}

}  // namespace

std::vector<Finalist> choose_finalists(const std::vector<Lane*>& lanes) {
  std::vector<Finalist> finalists;
  for (const Lane* lane : lanes) {
    for (const auto& [index, trial] : lane->trials()) {
      if (!trial.ok() || trial.measurement.screened_out) continue;
      finalists.push_back({.kernel = &lane->kernel(),
                           .configuration = trial.configuration,
                           .problem = trial.problem,
                           .screened_us = trial.measurement.median_us,
                           .won_before = lane->has_won(index)});
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

void build_finalists(std::vector<Finalist>& finalists,
                     const std::function<const BuiltKernel&(const Finalist&)>& build) {
  if (finalists.empty()) return;
  const std::size_t most = most_finalists(finalists.front().screened_us);
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

std::optional<Verdict> judge(std::span<const Finalist> finalists) {
  const Finalist* fastest = fastest_of(finalists);
  if (fastest == nullptr) return std::nullopt;
  std::vector<std::size_t> tied;
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    if (in_the_running(finalists[i]) && ties_with(*fastest, finalists[i])) tied.push_back(i);
  }
  const auto preference = [&](std::size_t i) {
    return std::tuple(!finalists[i].won_before, cost(finalists[i]));
  };
  const std::size_t winner = *std::min_element(
      tied.begin(), tied.end(),
      [&](std::size_t a, std::size_t b) { return preference(a) < preference(b); });
  std::erase(tied, winner);
  return Verdict{winner, median_interval(finalists[winner].samples_us), std::move(tied)};
}

FinalsResult run_finals(const GemmProblem& problem, std::vector<Finalist>& finalists,
                        bool with_cublas, TrialRunner& runner,
                        const std::function<bool()>& enough) {
  for (Finalist& finalist : finalists) finalist.samples_us.clear();
  std::vector<double> cublas_us;
  for (int round = 0; round < kRounds && (round == 0 || !enough()); ++round) {
    const Finalist* fastest = round < kFirstRounds ? nullptr : fastest_of(finalists);
    std::vector<Finalist*> playing;
    for (Finalist& finalist : finalists) {
      const bool is_left = round == 0 || in_the_running(finalist);
      if (is_left && (fastest == nullptr || ties_with(*fastest, finalist))) {
        playing.push_back(&finalist);
      }
    }
    for (Finalist* finalist : playing) play(*finalist, round == 0, runner);
    if (with_cublas) {
      const Trial trial = runner.run_cublas(problem, {.verify = round == 0, .samples = 1});
      with_cublas = trial.ok();
      if (trial.ok()) cublas_us.push_back(trial.measurement.median_us);
    }
  }
  return {judge(finalists), cublas_us.empty() ? std::nullopt : std::optional(median(cublas_us))};
}

}  // namespace autotune
