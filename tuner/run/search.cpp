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
constexpr std::size_t kMostSpare = 10'000;

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

Search::Search(std::vector<Lane*> lanes, KernelBuilder& builder, Benches& benches, Signal& news,
               OtherRuns* others, TrialSink sink)
    : lanes_(std::move(lanes)),
      builder_(builder),
      benches_(benches),
      news_(news),
      others_(others),
      sink_(std::move(sink)) {
  for (const Lane* lane : lanes_) {
    const Trial* best = lane->best();
    best_us_[lane] = std::make_shared<std::atomic<double>>(
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
    if (benches_.settle_one()) continue;
    const bool idle = waiting_.empty() && benches_.open_jobs() == 0;
    if (idle && set_aside_.empty()) {
      return rule_->has_held() ? SearchEnd::good_enough : SearchEnd::exhausted;
    }
    if (!idle) idle_since_.reset();
    if (idle && !idle_since_) idle_since_ = Clock::now();
    news_.wait_until(Clock::now() + kBetweenLooks);
  }
  waiting_.clear();
  benches_.drop_queued();
  benches_.settle_all();
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
  const std::size_t under_way = waiting_.size() + benches_.open_jobs();
  return under_way < limits.lookahead &&
         (!limits.trials || measured_ + static_cast<std::int64_t>(under_way) < *limits.trials);
}

bool Search::propose_one() {
  for (std::size_t tries = 0; tries < kTurnsOfTheLeader * lanes_.size(); ++tries) {
    const std::size_t round = turn_ / lanes_.size();
    Lane& lane = *lanes_[turn_++ % lanes_.size()];
    const bool passed_over = is_behind(lane) && round % kTurnsOfTheLeader != 0;
    if (passed_over || rule_->holds(lane.problem())) continue;
    if (const std::optional<std::size_t> index = lane.propose()) {
      take_up({&lane, *index}, /*patient=*/true);
      return true;
    }
  }
  return false;
}

void Search::take_up(const Claim& claim, bool patient) {
  const auto& [lane, index] = claim;
  if (others_ != nullptr && !others_->claim(*lane, index) && patient) {
    set_aside_.push_back(claim);
    return;
  }
  claimed_.insert(claim);
  const auto ticket =
      builder_.request(lane->kernel(), lane->space().configurations[index], lane->problem());
  waiting_.push_back({lane, index, ticket, learned_});
}

// Whether another template is clearly faster for the lane's problem.
bool Search::is_behind(const Lane& lane) const {
  if (lane.trials().size() < kFairTrials || lane.best() == nullptr) return false;
  return std::any_of(lanes_.begin(), lanes_.end(), [&](const Lane* other) {
    return other->problem() == lane.problem() && other->best() != nullptr &&
           kClearlyFaster * other->best()->measurement.median_us <
               lane.best()->measurement.median_us;
  });
}

void Search::submit_built(const SearchLimits& limits) {
  std::erase_if(waiting_, [&](const Proposal& proposal) {
    if (builder_.find(proposal.ticket) == nullptr) return false;
    // Before this run claimed it, another one may have made and stored it.
    if (proposal.learned == learned_) learn();
    if (proposal.lane->trials().contains(proposal.index)) {
      release({proposal.lane, proposal.index});
    } else {
      submit(proposal, limits);
    }
    return true;
  });
}

void Search::submit(const Proposal& proposal, const SearchLimits& limits) {
  const auto outcome = std::make_shared<std::optional<Trial>>();
  const auto run = [proposal, limits, outcome, best_us = best_us_.at(proposal.lane),
                    &built = *builder_.find(proposal.ticket)](TrialRunner& runner) {
    outcome->reset();
    if (is_over(limits)) return;
    const Lane& lane = *proposal.lane;
    MeasureOptions options{.once_per_code = true};
    if (std::isfinite(best_us->load())) options.stop_above_us = kScreeningMargin * *best_us;
    Trial trial = runner.run(lane.kernel(), lane.space().configurations[proposal.index],
                             lane.problem(), built, options);
    if (trial.ok()) lower(*best_us, trial.measurement.median_us);
    *outcome = std::move(trial);
  };
  const auto done = [this, proposal, outcome] {
    if (*outcome) record(proposal, std::move(**outcome));
  };
  benches_.submit({proposal.lane->problem(), run, done});
}

void Search::record(const Proposal& proposal, Trial trial) {
  ++measured_;
  claimed_.erase({proposal.lane, proposal.index});
  sink_(*proposal.lane, trial);
  proposal.lane->record(proposal.index, std::move(trial));
  share(*proposal.lane, proposal.index);
}

void Search::share(const Lane& lane, std::size_t index) {
  const Trial& trial = lane.trials().at(index);
  if (!trial.ok()) return;
  const double slowness = trial.measurement.median_us / lane.best()->measurement.median_us;
  const std::vector<std::size_t> with_its_code = lane.space().with_the_code_of(index);
  for (Lane* other : with_the_layout_of(lane)) {
    const bool same_kernels = compiled_for(lane.kernel(), unpadded_traits(other->problem())) ==
                              compiled_for(lane.kernel(), unpadded_traits(lane.problem()));
    for (const std::size_t alike : with_its_code) {
      if (alike == index && slowness <= kWorthSharing) {
        other->suggest(index);
      } else if (same_kernels && !other->knows(alike)) {
        spare_.emplace(slowness, Claim(other, alike));
      }
    }
  }
  while (spare_.size() > kMostSpare) spare_.erase(std::prev(spare_.end()));
}

// Where compiling is the limit, a trial of what is built already costs nothing. One thing at a time
// means that nothing is measured while something is compiled.
void Search::use_idle_devices(const SearchLimits& limits) {
  if (limits.trials || limits.lookahead == 1) return;
  if (benches_.open_jobs() >= benches_.size()) return;
  while (!spare_.empty()) {
    const Claim claim = spare_.extract(spare_.begin()).mapped();
    const auto& [lane, index] = claim;
    if (is_behind(*lane) || rule_->holds(lane->problem()) || !lane->name(index)) continue;
    take_up(claim, /*patient=*/true);
    return;
  }
}

std::vector<Lane*> Search::with_the_layout_of(const Lane& lane) const {
  std::vector<Lane*> result;
  for (Lane* other : lanes_) {
    if (&other->space() == &lane.space() && other->problem().op_a == lane.problem().op_a &&
        other->problem().op_b == lane.problem().op_b) {
      result.push_back(other);
    }
  }
  return result;
}

void Search::follow_others(const SearchLimits& limits) {
  if (others_ == nullptr || Clock::now() < next_learning_) return;
  learn();
  const bool patient = !idle_since_ || Clock::now() - *idle_since_ < limits.patience;
  for (const Claim& claim : std::exchange(set_aside_, {})) {
    if (claim.first->trials().contains(claim.second)) continue;
    if (has_room(limits)) {
      take_up(claim, patient);
    } else {
      set_aside_.push_back(claim);
    }
  }
}

void Search::learn() {
  ++learned_;
  if (others_ == nullptr) return;
  others_->learn();
  for (const Lane* lane : lanes_) {
    if (const Trial* best = lane->best()) lower(*best_us_.at(lane), best->measurement.median_us);
  }
  next_learning_ = Clock::now() + kBetweenLearning;
}

void Search::release(Claim claim) {
  if (others_ != nullptr) others_->release(*claim.first, claim.second);
  claimed_.erase(claim);
}

}  // namespace autotune
