#include "tuner/run/search_loop.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

namespace autotune {
namespace {

using Clock = std::chrono::steady_clock;

// The template that is faster for a problem gets more turns. Once a template has had a fair trial
// and is slower than another by one of these factors, it has a turn only in one of so many rounds.
constexpr double kClearlyFaster = 1.1;
constexpr std::size_t kRoundsIfBehind = 8;
constexpr double kFarFaster = 1.5;
constexpr std::size_t kRoundsIfFarBehind = 32;

// A trial that is slower than its problem's best by at most this factor is also tried for the other
// problems of its layout.
constexpr double kWorthSharing = 1.1;

// The slowest entries beyond this number are dropped.
constexpr std::size_t kMostQueuedForReuse = 10'000;

// The number of jobs that are submitted for each device. Other trials whose kernels are built wait
// in the order of their proposals, so that stored kernels do not delay those that must be compiled.
constexpr std::size_t kSubmittedPerDevice = 12;

// The number of proposals that wait, of which many may be for one kernel.
constexpr std::size_t kMostWaiting = 500;

// The time between two readings of what other runs have stored.
constexpr std::chrono::milliseconds kBetweenLearning(200);

// The share of the time left that a search waits for other runs before it makes their trials.
constexpr double kPatienceShare = 0.25;

}  // namespace

Search::Search(SearchPlan& plan, KernelBuilder& builder, DevicePool& devices, SearchLimits limits)
    : plan_(plan),
      tasks_(plan.open()),
      builder_(builder),
      devices_(devices),
      limits_(std::move(limits)),
      rule_(plan) {}

std::optional<SearchEnd> Search::advance() {
  if (const std::optional<SearchEnd> end = reached()) return end;
  if (all_hold()) return SearchEnd::good_enough;
  follow_others();
  propose();
  use_idle_devices();
  submit_built();
  const bool idle = waiting_.empty() && devices_.open_jobs() == 0;
  if (idle && deferred_.empty()) {
    return rule_.has_held() ? SearchEnd::good_enough : SearchEnd::exhausted;
  }
  if (!idle) patient_until_.reset();
  if (idle && !patient_until_) patient_until_ = Clock::now() + patience();
  return std::nullopt;
}

bool Search::all_hold() {
  return !tasks_.empty() && std::ranges::all_of(tasks_, [this](const SearchTask* task) {
    return rule_.holds(task->asked());
  });
}

Search::Clock::duration Search::patience() const {
  if (!limits_.deadline) return limits_.patience;
  const auto share = std::chrono::duration_cast<Clock::duration>(
      kPatienceShare * (*limits_.deadline - Clock::now()));
  return std::min(limits_.patience, share);
}

std::optional<SearchEnd> Search::reached() const {
  if (limits_.stop.stop_requested()) return SearchEnd::stopped;
  const bool too_late = limits_.deadline && Clock::now() >= *limits_.deadline;
  if (too_late || (limits_.trials && measured_ >= *limits_.trials)) return SearchEnd::budget;
  return std::nullopt;
}

void Search::propose() {
  while (has_room() && !reached() && propose_one()) {
  }
}

// Proposals wait until few kernels are to be compiled, and few built ones wait for a device,
// because a later proposal can use more results.
bool Search::has_room() const {
  std::size_t built = 0;
  std::set<KernelBuilder::Ticket> unbuilt;
  for (const Proposal& proposal : waiting_) {
    if (builder_.find(proposal.ticket) != nullptr) {
      ++built;
    } else {
      unbuilt.insert(proposal.ticket);
    }
  }
  const std::size_t under_way = waiting_.size() + devices_.open_jobs();
  if (!has_trials_left(under_way)) return false;
  if (!limits_.compiled_ahead) return under_way == 0;
  const std::size_t most = *limits_.compiled_ahead;
  // With a limit of trials, what a proposal knows does not depend on when kernels are built.
  if (limits_.trials) return under_way < most;
  return unbuilt.size() < most && built <= tasks_.size() && waiting_.size() < kMostWaiting;
}

bool Search::has_trials_left(std::size_t under_way) const {
  return !limits_.trials || measured_ + static_cast<std::int64_t>(under_way) < *limits_.trials;
}

bool Search::propose_one() {
  for (std::size_t tries = 0; tries < kRoundsIfFarBehind * tasks_.size(); ++tries) {
    const std::size_t round = turn_ / tasks_.size();
    SearchTask& task = *tasks_[turn_++ % tasks_.size()];
    if (rule_.holds(task.asked()) || round % rounds_of(task) != 0) continue;
    if (const std::optional<std::size_t> index = task.propose()) {
      enqueue({&task, *index}, /*patient=*/true);
      return true;
    }
  }
  return false;
}

void Search::enqueue(const Claim& claim, bool patient) {
  const auto& [task, index] = claim;
  if (!plan_.shared().claim(key_of(claim)) && patient) {
    deferred_.push_back(claim);
    return;
  }
  claimed_.insert(claim);
  const auto ticket =
      builder_.request(task->kernel(), task->space().configurations[index], task->problem());
  waiting_.push_back({claim, ticket, learned_});
}

std::size_t Search::rounds_of(const SearchTask& task) const {
  if (!task.had_fair_trial() || (task.best() == nullptr && !task.has_rejected())) return 1;
  const auto best_us_of = [](const SearchTask& one) {
    return one.best() != nullptr ? one.best()->measurement.median_us
                                 : std::numeric_limits<double>::infinity();
  };
  const double own_us = best_us_of(task);
  double best_us = own_us;
  for (const SearchTask* other : plan_.tasks_of(task.asked())) {
    best_us = std::min(best_us, best_us_of(*other));
  }
  if (kFarFaster * best_us < own_us) return kRoundsIfFarBehind;
  return kClearlyFaster * best_us < own_us ? kRoundsIfBehind : 1;
}

void Search::submit_built() {
  const std::size_t most = kSubmittedPerDevice * devices_.size();
  std::erase_if(waiting_, [&](const Proposal& proposal) {
    if (devices_.open_jobs() >= most || builder_.find(proposal.ticket) == nullptr) return false;
    // Another run may have made and stored the trial before this run claimed it.
    if (proposal.learned == learned_) learn();
    const auto& [task, index] = proposal.claim;
    if (task->trials().contains(index)) {
      release(proposal.claim);
    } else {
      submit(proposal);
    }
    return true;
  });
}

void Search::submit(const Proposal& proposal) {
  const auto& [task, index] = proposal.claim;
  devices_.submit(MeasureJob{.id = {task->id(), index},
                             .problem = task->problem(),
                             .kernel = &task->kernel(),
                             .configuration = task->space().configurations[index],
                             .built = builder_.find(proposal.ticket),
                             .best = &task->best_time(),
                             .deadline = limits_.deadline,
                             .end = limits_.end});
}

void Search::record(TrialId id) {
  SearchTask& task = plan_.tasks()[id.task];
  ++measured_;
  claimed_.erase({&task, id.configuration});
  share(task, id.configuration);
}

void Search::share(const SearchTask& task, std::size_t index) {
  const Trial& trial = task.trials().at(index);
  if (!task.accepts(trial)) return;
  const double slowness = trial.measurement.median_us / task.best()->measurement.median_us;
  const std::vector<std::size_t> with_its_code = task.space().with_the_code_of(index);
  for (SearchTask* other : with_the_layout_of(task)) {
    const bool same_kernels =
        code_traits(task.kernel(), other->problem()) == code_traits(task.kernel(), task.problem());
    for (const std::size_t alike : with_its_code) {
      if (other->knows(alike)) continue;
      if (alike == index && slowness <= kWorthSharing) other->suggest(index);
      if (same_kernels) reuse_queue_.emplace(slowness, Claim(other, alike));
    }
  }
  while (reuse_queue_.size() > kMostQueuedForReuse) {
    reuse_queue_.erase(std::prev(reuse_queue_.end()));
  }
}

// If compiling is slower than measuring, a trial of a kernel that is built costs no time. Without
// overlap nothing is measured while a kernel is compiled.
void Search::use_idle_devices() {
  if (limits_.trials || !limits_.compiled_ahead) return;
  if (devices_.open_jobs() >= devices_.size()) return;
  while (!reuse_queue_.empty()) {
    const Claim claim = reuse_queue_.extract(reuse_queue_.begin()).mapped();
    const auto& [task, index] = claim;
    if (rounds_of(*task) > 1 || rule_.holds(task->asked())) continue;
    if (!task->take_suggested(index) && !task->try_reserve(index)) continue;
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

void Search::follow_others() {
  if (Clock::now() < next_learning_) return;
  learn();
  const bool patient = !patient_until_ || Clock::now() < *patient_until_;
  for (const Claim& claim : std::exchange(deferred_, {})) {
    if (claim.first->trials().contains(claim.second)) continue;
    if (has_room()) {
      enqueue(claim, patient);
    } else {
      deferred_.push_back(claim);
    }
  }
}

void Search::learn() {
  ++learned_;
  plan_.shared().learn(plan_.tasks(), plan_.stored().rates());
  next_learning_ = Clock::now() + kBetweenLearning;
}

SharedTrials::Key Search::key_of(const Claim& claim) const {
  const auto& [task, index] = claim;
  return plan_.shared().key_of(task->kernel(), task->problem(),
                               task->space().configurations[index]);
}

void Search::release(const Claim& claim) {
  plan_.shared().release(key_of(claim));
  claimed_.erase(claim);
}

void Search::release_claims() {
  while (!claimed_.empty()) release(Claim(*claimed_.begin()));
}

}  // namespace autotune
