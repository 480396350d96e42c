#include "tuner/finals.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "tuner/measured_code.hpp"

namespace autotune {
namespace {

// So many at most.
constexpr std::size_t kFinalists = 6;

constexpr int kRounds = 11;
constexpr double kTieMargin = 1.02;

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
                           .screened_us = trial.measurement.median_us});
    }
  }
  std::stable_sort(finalists.begin(), finalists.end(), [](const Finalist& a, const Finalist& b) {
    return a.screened_us < b.screened_us;
  });
  if (finalists.empty()) return finalists;
  const double limit_us = kFinalistMargin * finalists.front().screened_us;
  std::erase_if(finalists, [&](const Finalist& f) { return f.screened_us > limit_us; });
  return finalists;
}

void build_finalists(std::vector<Finalist>& finalists,
                     const std::function<const BuiltKernel&(const Finalist&)>& build) {
  std::vector<Finalist> built;
  std::set<std::string> keys;
  for (Finalist& finalist : finalists) {
    if (built.size() == kFinalists) break;
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
  std::vector<std::size_t> running;
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    if (in_the_running(finalists[i])) running.push_back(i);
  }
  if (running.empty()) return std::nullopt;

  const auto median_of = [&](std::size_t i) { return median(finalists[i].samples_us); };
  const std::size_t fastest =
      *std::min_element(running.begin(), running.end(),
                        [&](std::size_t a, std::size_t b) { return median_of(a) < median_of(b); });
  const Interval best = median_interval(finalists[fastest].samples_us);

  std::vector<std::size_t> tied;
  for (const std::size_t i : running) {
    const Interval interval = median_interval(finalists[i].samples_us);
    if (i == fastest ||
        (median_of(i) <= kTieMargin * median_of(fastest) && interval.low <= best.high)) {
      tied.push_back(i);
    }
  }
  const std::size_t winner = *std::min_element(
      tied.begin(), tied.end(),
      [&](std::size_t a, std::size_t b) { return cost(finalists[a]) < cost(finalists[b]); });
  std::erase(tied, winner);
  return Verdict{winner, median_interval(finalists[winner].samples_us), std::move(tied)};
}

FinalsResult run_finals(const GemmProblem& problem, std::vector<Finalist>& finalists,
                        bool with_cublas, TrialRunner& runner,
                        const std::function<bool()>& enough) {
  for (Finalist& finalist : finalists) finalist.samples_us.clear();
  std::vector<double> cublas_us;
  for (int round = 0; round < kRounds && (round == 0 || !enough()); ++round) {
    for (Finalist& finalist : finalists) {
      if (round == 0 || in_the_running(finalist)) {
        play(finalist, round == 0, runner);
      }
    }
    if (with_cublas) {
      const Trial trial = runner.run_cublas(problem, {.verify = round == 0, .samples = 1});
      with_cublas = trial.ok();
      if (trial.ok()) cublas_us.push_back(trial.measurement.median_us);
    }
  }
  return {judge(finalists), cublas_us.empty() ? std::nullopt : std::optional(median(cublas_us))};
}

}  // namespace autotune
