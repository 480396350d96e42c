#include "tuner/devices/finals.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "tuner/devices/baseline_rounds.hpp"

namespace autotune {
namespace {

constexpr int kRounds = 11;
constexpr std::size_t kFewestFinalists = 4;
constexpr std::size_t kMostFinalists = 32;
// The first rounds should take a second, or less if time is short, without verification.
constexpr double kFirstRounds_s = 1;
constexpr double kFirstRoundsShare = 0.6;  // of the time that is left
// A sample takes 2 ms or a launch, some launches before it, and as much again for everything else.
constexpr double kSample_us = 4000;
constexpr double kLaunches = 3;

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

// Compares the rounds that both have. A round that only one of them has may reflect a change of the
// device's state.
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

// Plays the rounds of one problem's finals.
class Rounds {
 public:
  Rounds(const Problem& problem, std::vector<Finalist>& finalists, const std::string& baseline,
         TrialRunner& runner, const FinalsTime& time, const std::stop_token& stop)
      : problem_(problem), finalists_(finalists), runner_(runner), time_(time), stop_(stop) {
    if (baseline.empty()) return;
    baseline_.emplace([this, baseline](int algorithm) { return sample(baseline, algorithm); });
  }

  // Plays all rounds for which there is time and returns their number.
  int play() {
    while (goes_on() && play_one()) ++round_;
    for (Finalist& finalist : finalists_) {
      const auto rounds = static_cast<std::size_t>(round_);
      if (finalist.samples_us.size() > rounds) finalist.samples_us.resize(rounds);
    }
    return round_;
  }
  [[nodiscard]] const std::optional<BaselineRounds>& baseline() const { return baseline_; }

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] bool goes_on() const {
    if (round_ == kRounds) return false;
    return round_ < kFirstRounds || !time_.deadline || Clock::now() < *time_.deadline;
  }
  [[nodiscard]] bool is_over() const {
    return stop_.stop_requested() || (time_.end && Clock::now() >= *time_.end);
  }
  [[nodiscard]] MeasureOptions options() const {
    return {.verify = round_ == 0, .timing = {.samples = 1}, .end = time_.end};
  }

  // False if the time was over before the end of the round.
  bool play_one() {
    for (Finalist* finalist : left_in_round(round_, finalists_)) {
      if (!sample(*finalist)) return false;
    }
    if (baseline_) baseline_->play();  // which costs finalists no round
    return true;
  }

  // Takes one sample, which is verified in the first round. False if the time was over.
  bool sample(Finalist& finalist) {
    if (is_over()) return false;
    Trial trial = runner_.run(*finalist.kernel, finalist.configuration, finalist.problem,
                              *finalist.built, options());
    if (was_given_up(trial)) return false;
    if (trial.ok()) finalist.samples_us.push_back(trial.measurement.median_us);
    if (round_ > 0 && trial.ok()) trial.verification = finalist.last.verification;
    finalist.last = std::move(trial);
    return true;
  }

  // The same for an algorithm of the baseline. Nullopt if the time was over.
  std::optional<Trial> sample(const std::string& baseline, int algorithm) {
    if (is_over()) return std::nullopt;
    const Operation& operation = *finalists_.front().kernel->operation;
    Trial trial = runner_.run_baseline(baseline, algorithm, operation, problem_, options());
    if (was_given_up(trial)) return std::nullopt;
    return trial;
  }

  [[nodiscard]] bool was_given_up(const Trial& trial) const {
    return (!trial.ok() && stop_.stop_requested()) || was_cut_short(trial, options());
  }

  const Problem& problem_;
  std::vector<Finalist>& finalists_;
  std::optional<BaselineRounds> baseline_;
  TrialRunner& runner_;
  const FinalsTime& time_;
  const std::stop_token& stop_;
  int round_ = 0;  // the number of whole rounds
};

void record(const BaselineRounds& rounds, const std::string& baseline, FinalsResult& result) {
  const Finalist* const winner =
      result.ranking ? &result.finalists[result.ranking->winner] : nullptr;
  result.baseline = rounds.time(baseline, winner ? winner->samples_us : std::vector<double>());
  result.baseline_problem = rounds.problem(baseline);
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
  const std::size_t winner = *std::ranges::min_element(
      tied, [&](std::size_t a, std::size_t b) { return preference(a) < preference(b); });
  std::erase(tied, winner);
  return Ranking{winner, median_interval(finalists[winner].samples_us), std::move(tied)};
}

FinalsResult run_finals(const Problem& problem, std::vector<Finalist> finalists,
                        const std::string& baseline, TrialRunner& runner, const FinalsTime& time,
                        const std::stop_token& stop) {
  Rounds rounds(problem, finalists, baseline, runner, time, stop);
  FinalsResult result;
  if (rounds.play() >= kFirstRounds) result.ranking = rank_finalists(finalists);
  result.finalists = std::move(finalists);
  if (rounds.baseline()) record(*rounds.baseline(), baseline, result);
  return result;
}

}  // namespace autotune
