#include "tuner/run/decision.hpp"

#include <algorithm>
#include <chrono>
#include <ranges>
#include <utility>

#include "core/statistics.hpp"
#include "kernel_templates/possible_time.hpp"
#include "tuner/run/stopping_rule.hpp"

namespace autotune {
namespace {

// Finals that have had their first rounds end after this share of the time budget. All others are
// given up at its end.
constexpr double kFinalsShare = 0.98;
// The number of known trials of a problem whose kernels are built before the search.
constexpr int kKnownBest = 4;

// Compares a baseline with a winner that was not timed in the same rounds: the finals ended too
// soon.
void compare(const Winner& winner, BaselineTime& baseline) {
  if (baseline.speedup > 0) return;
  baseline.speedup = baseline.median_us / winner.median_us;
  baseline.speedup_low = baseline.low_us / winner.high_us;
  baseline.speedup_high = baseline.high_us / winner.low_us;
}

// Returns the trials of a problem's tasks that may win, were not screened out and are close to the
// best: previous winners first, then the others, fastest first. Their kernels need not be built.
// With a limit of the error, trials may have been screened out against one that does not keep to
// it.
std::vector<Finalist> choose_finalists(const std::vector<SearchTask*>& tasks, bool has_limit) {
  std::vector<Finalist> finalists;
  for (const SearchTask* task : tasks) {
    for (const auto& [index, trial] : task->trials()) {
      if (!task->accepts(trial) || (trial.measurement.screened_out && !has_limit)) continue;
      finalists.push_back({.kernel = &task->kernel(),
                           .configuration = trial.configuration,
                           .problem = trial.problem,
                           .screened_us = trial.measurement.median_us,
                           .won_before = task->has_won(index)});
    }
  }
  if (finalists.empty()) return finalists;
  std::ranges::stable_sort(finalists, [](const Finalist& a, const Finalist& b) {
    return a.screened_us < b.screened_us;
  });
  const double limit_us = kFinalistMargin * finalists.front().screened_us;
  std::erase_if(finalists, [&](const Finalist& f) { return f.screened_us > limit_us; });
  std::ranges::stable_partition(finalists,
                                [](const Finalist& finalist) { return finalist.won_before; });
  return finalists;
}

// Returns the least error of correct trials.
std::optional<double> least_error(const std::vector<SearchTask*>& tasks) {
  std::optional<double> least;
  for (const SearchTask* task : tasks) {
    for (const auto& [index, trial] : task->trials()) {
      if (!trial.ok()) continue;
      const double error = trial.verification.frobenius_error;
      least = std::min(least.value_or(error), error);
    }
  }
  return least;
}

// Returns the trials' message if the device had too little memory for every kernel that was
// launched; otherwise an empty text.
std::string found_too_large(const std::vector<SearchTask*>& tasks) {
  std::string why;
  for (const SearchTask* task : tasks) {
    for (const auto& [index, trial] : task->trials()) {
      if (trial.status == TrialStatus::rejected_spills) continue;
      if (trial.status != TrialStatus::out_of_memory) return "";
      why = trial.detail;
    }
  }
  return why;
}

}  // namespace

void request_known_best(SearchPlan& plan, KernelBuilder& builder) {
  std::set<Problem> problems;
  for (const SearchTask* task : plan.open()) problems.insert(task->asked());
  for (const Problem& problem : problems) {
    for (const Finalist& known :
         choose_finalists(plan.tasks_of(problem), plan.request().max_error.has_value()) |
             std::views::take(kKnownBest)) {
      builder.request(*known.kernel, known.configuration, known.problem);
    }
  }
}

Decision::Decision(SearchPlan& plan, KernelBuilder& builder, DevicePool* devices,
                   TrialWriter& writer, RunReport& report, SearchEnd end, std::stop_token stop)
    : plan_(plan),
      builder_(builder),
      devices_(devices),
      writer_(writer),
      report_(report),
      stop_(std::move(stop)) {
  for (const Problem& problem : plan.request().problems) {
    Undecided& undecided = problems_.emplace_back();
    undecided.tasks = plan.tasks_of(problem);
    undecided.result.problem = problem;
    for (const SearchTask* task : undecided.tasks) {
      undecided.result.measured += task->measured();
      undecided.result.known += task->known();
      undecided.result.began_with.insert(task->began_with().begin(), task->began_with().end());
      undecided.result.valid_configurations +=
          static_cast<std::int64_t>(task->space().configurations.size());
    }
  }
  if (devices != nullptr && !stop_.stop_requested()) prepare_finals(end);
}

void Decision::prepare_finals(SearchEnd end) {
  for (std::size_t i = 0; i < problems_.size(); ++i) {
    Undecided& undecided = problems_[i];
    const Problem& problem = undecided.result.problem;
    const bool has_news = undecided.result.measured > 0 || plan_.lacks_finals(problem, end);
    if (!has_news && plan_.request().baseline.empty()) continue;
    undecided.candidates = choose_finalists(undecided.tasks, plan_.request().max_error.has_value());
    if (!undecided.candidates.empty()) to_submit_.push_back(i);
  }
  // Where the time is too short for all finals, those of problems without a winner come first.
  std::ranges::stable_partition(
      to_submit_, [&](std::size_t i) { return !plan_.has_winner(problems_[i].result.problem); });
  open_finals_ = to_submit_.size();
  std::optional<double> seconds;
  if (const auto time = time_share(open_finals_)) {
    const std::chrono::duration<double> left = time->end - SearchPlan::Clock::now();
    seconds = plan_.device_share() * time->share * std::max(0.0, left.count());
  }
  for (const std::size_t i : to_submit_) {
    Undecided& undecided = problems_[i];
    std::vector<Finalist>& candidates = undecided.candidates;
    undecided.most = most_finalists(candidates.front().screened_us, seconds);
    // The kernels come from the cubin store, unless it was emptied.
    for (std::size_t c = 0; c < std::min(candidates.size(), undecided.most); ++c) {
      builder_.request(*candidates[c].kernel, candidates[c].configuration, candidates[c].problem);
    }
  }
}

std::optional<FinalsJob::TimeShare> Decision::time_share(std::size_t finals_left) const {
  const auto end = plan_.deadline(kFinalsShare);
  if (!end || finals_left == 0) return std::nullopt;
  const double at_once = static_cast<double>(devices_->size()) / static_cast<double>(finals_left);
  return FinalsJob::TimeShare{*end, std::min(1.0, at_once), *plan_.deadline(1)};
}

void Decision::submit_finals() {
  while (!to_submit_.empty()) {
    const std::size_t i = to_submit_.front();
    if (!add_built(problems_[i])) {
      if (!plan_.is_over(kFinalsShare)) return;
      missed_finals_.insert(problems_[i].result.problem);
      --open_finals_;
      to_submit_.pop_front();
      continue;
    }
    report_.progress("finals");
    devices_->submit(FinalsJob{.id = i,
                               .problem = problems_[i].finalists.front().problem,
                               .finalists = std::move(problems_[i].finalists),
                               .baseline = plan_.request().baseline,
                               .time = time_share(to_submit_.size())});
    to_submit_.pop_front();
  }
}

bool Decision::add_built(Undecided& undecided) {
  while (undecided.next < undecided.candidates.size() &&
         undecided.finalists.size() < undecided.most) {
    Finalist& candidate = undecided.candidates[undecided.next];
    const KernelTemplate& kernel = *candidate.kernel;
    candidate.built =
        builder_.find(builder_.request(kernel, candidate.configuration, candidate.problem));
    // Once the time is over, those play whose kernels are built, if the first candidate's is.
    const bool waits = undecided.next == 0 || !plan_.is_over(kFinalsShare);
    if (candidate.built == nullptr && waits) return false;
    ++undecided.next;
    if (candidate.built == nullptr) continue;
    Execution execution{candidate.problem, kernel.name, candidate.built->code,
                        kernel.geometry(candidate.configuration, candidate.problem)};
    if (undecided.executions.insert(std::move(execution)).second) {
      undecided.finalists.push_back(std::move(candidate));
    }
  }
  return true;
}

void Decision::record(FinalsDone done) {
  --open_finals_;
  Undecided& undecided = problems_[done.id];
  undecided.result.baseline = done.result.baseline;
  if (undecided.result.baseline) undecided.result.baseline->measured_at = utc_now();
  undecided.result.baseline_problem = std::move(done.result.baseline_problem);
  if (done.result.ranking) {
    declare_winner(undecided, done.result);
  } else if (plan_.is_over(kFinalsShare)) {
    missed_finals_.insert(undecided.result.problem);
  }
}

void Decision::declare_winner(Undecided& undecided, const FinalsResult& finals) {
  const Ranking& ranking = *finals.ranking;
  const Finalist& first = finals.finalists[ranking.winner];
  if (!is_possible_us(*first.kernel, first.problem, median(first.samples_us),
                      plan_.stored().rates())) {
    return;
  }
  Winner winner = plan_.stored().winner_from(first.last, *first.kernel);
  winner.median_us = median(first.samples_us);
  winner.low_us = ranking.interval.low;
  winner.high_us = ranking.interval.high;
  winner.confirmed = true;
  // The baseline has the arithmetic of the first finalist.
  if (undecided.result.baseline && first.problem == finals.finalists.front().problem) {
    winner.baseline = undecided.result.baseline;
  }
  for (const std::size_t tie : ranking.ties) {
    const Finalist& tied = finals.finalists[tie];
    if (tied.kernel != first.kernel || tied.problem != first.problem) continue;
    winner.ties.push_back(tied.configuration);
  }
  if (plan_.stored().may_store(winner, undecided.tasks)) writer_.add(winner);
  undecided.result.winner = std::move(winner);
}

void Decision::report_results() {
  for (Undecided& undecided : problems_) {
    ProblemResult& result = undecided.result;
    if (result.measured > 0 || plan_.request().until) {
      result.reached_share = reached_share(undecided.tasks);
    }
    if (!result.winner) {
      result.winner = plan_.stored().known_best(undecided.tasks, plan_.request().fresh,
                                                !missed_finals_.empty() || stop_.stop_requested());
    }
    if (result.winner && result.baseline) compare(*result.winner, *result.baseline);
    if (!result.winner) {
      if (plan_.request().max_error) result.least_error = least_error(undecided.tasks);
      result.too_large = undecided.tasks.empty() ? plan_.too_large(result.problem)
                                                 : found_too_large(undecided.tasks);
    }
    const std::string& baseline = plan_.request().baseline;
    const bool lacks_baseline = !baseline.empty() && !result.baseline;
    if (!missed_finals_.empty() && lacks_baseline && result.baseline_problem.empty()) {
      result.baseline_problem = baseline + " was not timed: the budget's time was over";
    }
    report_.add(std::move(result));
  }
}

}  // namespace autotune
