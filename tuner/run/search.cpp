#include "tuner/run/search.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

namespace autotune {
namespace {

using Clock = std::chrono::steady_clock;

// A configuration this far behind the best is not sampled to the end.
constexpr double kScreeningMargin = 1.25;

// Of several templates for a problem, the faster one gets more turns: once each has had so many
// trials, one that is behind by this factor has its turn in one round of so many.
constexpr std::size_t kFairTrials = 24;
constexpr double kClearlyFaster = 1.1;
constexpr std::size_t kTurnsOfTheLeader = 8;

// What is so near a problem's best is tried for the others of its layout too.
constexpr double kWorthSharing = 1.1;

// The slowest of more are forgotten.
constexpr std::size_t kMostQueuedForReuse = 10'000;

// Between two looks at the limits.
constexpr std::chrono::milliseconds kBetweenLooks(100);

// Between two looks at what other runs have stored.
constexpr std::chrono::milliseconds kBetweenLearning(200);

// The limits that end a search whatever it has found.
bool is_over(const SearchLimits& limits) {
  return limits.stop.stop_requested() || (limits.deadline && Clock::now() >= *limits.deadline);
}

void lower(std::atomic<double>& least, double value) {
  double seen = least;
  while (value < seen && !least.compare_exchange_weak(seen, value)) {
  }
}

}  // namespace

Search::Search(std::vector<SearchTask*> tasks, KernelBuilder& builder, DevicePool& benches,
               WakeUp& wake_up, OtherRuns* others, TrialSink sink)
    : tasks_(std::move(tasks)),
      builder_(builder),
      devices_(benches),
      wake_up_(wake_up),
      others_(others),
      sink_(std::move(sink)) {
  for (const SearchTask* task : tasks_) {
    const Trial* best = task->best();
    best_us_[task] = std::make_shared<std::atomic<double>>(
        best ? best->measurement.median_us : std::numeric_limits<double>::infinity());
  }
}

SearchEnd Search::run(const SearchLimits& limits) {
  rule_.emplace(limits.until, limits.judged);
  std::optional<SearchEnd> end;
  while (!(end = reached(limits))) {
    follow_others(limits);
    propose(limits);
    builder_.collect({});
    use_idle_devices(limits);
    submit_built(limits);
    if (devices_.drain_one()) continue;
    const bool idle = waiting_.empty() && devices_.open_jobs() == 0;
    if (idle && deferred_.empty()) {
      return rule_->has_held() ? SearchEnd::good_enough : SearchEnd::exhausted;
    }
    if (!idle) idle_since_.reset();
    if (idle && !idle_since_) idle_since_ = Clock::now();
    wake_up_.wait_until(Clock::now() + kBetweenLooks);
  }
  waiting_.clear();
  devices_.drop_queued();
  devices_.drain_all();
  while (!claimed_.empty()) release(*claimed_.begin());
  return *end;
}

std::optional<SearchEnd> Search::reached(const SearchLimits& limits) const {
  if (limits.stop.stop_requested()) return SearchEnd::stopped;
  if (is_over(limits) || (limits.trials && measured_ >= *limits.trials)) return SearchEnd::budget;
  return std::nullopt;
}

void Search::propose(const SearchLimits& limits) {
  while (has_room(limits) && propose_one()) {
  }
}

bool Search::has_room(const SearchLimits& limits) const {
  const std::size_t under_way = waiting_.size() + devices_.open_jobs();
  return under_way < limits.lookahead &&
         (!limits.trials || measured_ + static_cast<std::int64_t>(under_way) < *limits.trials);
}

bool Search::propose_one() {
  for (std::size_t tries = 0; tries < kTurnsOfTheLeader * tasks_.size(); ++tries) {
    const std::size_t round = turn_ / tasks_.size();
    SearchTask& task = *tasks_[turn_++ % tasks_.size()];
    const bool passed_over = is_behind(task) && round % kTurnsOfTheLeader != 0;
    if (passed_over || rule_->holds(task.problem())) continue;
    if (const std::optional<std::size_t> index = task.propose()) {
      enqueue({&task, *index}, /*patient=*/true);
      return true;
    }
  }
  return false;
}

void Search::enqueue(const Claim& claim, bool patient) {
  const auto& [task, index] = claim;
  if (others_ != nullptr && !others_->claim(*task, index) && patient) {
    deferred_.push_back(claim);
    return;
  }
  claimed_.insert(claim);
  const auto ticket =
      builder_.request(task->kernel(), task->space().configurations[index], task->problem());
  waiting_.push_back({task, index, ticket, learned_});
}

// Whether another template is clearly faster for the task's problem.
bool Search::is_behind(const SearchTask& task) const {
  if (task.trials().size() < kFairTrials || task.best() == nullptr) return false;
  return std::any_of(tasks_.begin(), tasks_.end(), [&](const SearchTask* other) {
    return other->problem() == task.problem() && other->best() != nullptr &&
           kClearlyFaster * other->best()->measurement.median_us <
               task.best()->measurement.median_us;
  });
}

void Search::submit_built(const SearchLimits& limits) {
  std::erase_if(waiting_, [&](const Proposal& proposal) {
    if (builder_.find(proposal.ticket) == nullptr) return false;
    // Before this run claimed it, another one may have made and stored it.
    if (proposal.learned == learned_) learn();
    if (proposal.task->trials().contains(proposal.index)) {
      release({proposal.task, proposal.index});
    } else {
      submit(proposal, limits);
    }
    return true;
  });
}

void Search::submit(const Proposal& proposal, const SearchLimits& limits) {
  const auto outcome = std::make_shared<std::optional<Trial>>();
  const auto run = [proposal, limits, outcome, best_us = best_us_.at(proposal.task),
                    &built = *builder_.find(proposal.ticket)](TrialRunner& runner) {
    outcome->reset();
    if (is_over(limits)) return;
    const SearchTask& task = *proposal.task;
    MeasureOptions options{.once_per_code = true};
    if (std::isfinite(best_us->load())) options.timing.stop_above_us = kScreeningMargin * *best_us;
    Trial trial = runner.run(task.kernel(), task.space().configurations[proposal.index],
                             task.problem(), built, options);
    if (trial.ok()) lower(*best_us, trial.measurement.median_us);
    *outcome = std::move(trial);
  };
  const auto done = [this, proposal, outcome] {
    if (*outcome) record(proposal, std::move(**outcome));
  };
  devices_.submit({proposal.task->problem(), run, done});
}

void Search::record(const Proposal& proposal, Trial trial) {
  ++measured_;
  claimed_.erase({proposal.task, proposal.index});
  sink_(*proposal.task, trial);
  proposal.task->record(proposal.index, std::move(trial));
  share(*proposal.task, proposal.index);
}

void Search::share(const SearchTask& task, std::size_t index) {
  const Trial& trial = task.trials().at(index);
  if (!trial.ok()) return;
  const double slowness = trial.measurement.median_us / task.best()->measurement.median_us;
  const std::vector<std::size_t> with_its_code = task.space().with_the_code_of(index);
  for (SearchTask* other : with_the_layout_of(task)) {
    const bool same_kernels =
        code_traits(task.kernel(), other->problem()) == code_traits(task.kernel(), task.problem());
    for (const std::size_t alike : with_its_code) {
      if (alike == index && slowness <= kWorthSharing) {
        other->suggest(index);
      } else if (same_kernels && !other->knows(alike)) {
        reuse_queue_.emplace(slowness, Claim(other, alike));
      }
    }
  }
  while (reuse_queue_.size() > kMostQueuedForReuse)
    reuse_queue_.erase(std::prev(reuse_queue_.end()));
}

// Where compiling is the limit, a trial of what is built already costs nothing. One thing at a time
// means that nothing is measured while something is compiled.
void Search::use_idle_devices(const SearchLimits& limits) {
  if (limits.trials || limits.lookahead == 1) return;
  if (devices_.open_jobs() >= devices_.size()) return;
  while (!reuse_queue_.empty()) {
    const Claim claim = reuse_queue_.extract(reuse_queue_.begin()).mapped();
    const auto& [task, index] = claim;
    if (is_behind(*task) || rule_->holds(task->problem()) || !task->name(index)) continue;
    enqueue(claim, /*patient=*/true);
    return;
  }
}

std::vector<SearchTask*> Search::with_the_layout_of(const SearchTask& task) const {
  std::vector<SearchTask*> result;
  for (SearchTask* other : tasks_) {
    if (&other->space() == &task.space() && same_traits(other->problem(), task.problem())) {
      result.push_back(other);
    }
  }
  return result;
}

void Search::follow_others(const SearchLimits& limits) {
  if (others_ == nullptr || Clock::now() < next_learning_) return;
  learn();
  const bool patient = !idle_since_ || Clock::now() - *idle_since_ < limits.patience;
  for (const Claim& claim : std::exchange(deferred_, {})) {
    if (claim.first->trials().contains(claim.second)) continue;
    if (has_room(limits)) {
      enqueue(claim, patient);
    } else {
      deferred_.push_back(claim);
    }
  }
}

void Search::learn() {
  ++learned_;
  if (others_ == nullptr) return;
  others_->learn();
  for (const SearchTask* task : tasks_) {
    if (const Trial* best = task->best()) lower(*best_us_.at(task), best->measurement.median_us);
  }
  next_learning_ = Clock::now() + kBetweenLearning;
}

void Search::release(Claim claim) {
  if (others_ != nullptr) others_->release(*claim.first, claim.second);
  claimed_.erase(claim);
}

}  // namespace autotune
