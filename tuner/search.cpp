#include "tuner/search.hpp"

#include <algorithm>
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

}  // namespace

Search::Search(std::vector<Lane*> lanes, KernelBuilder& builder, TrialRunner& runner,
               TrialSink sink)
    : lanes_(std::move(lanes)), builder_(builder), runner_(runner), sink_(std::move(sink)) {}

SearchEnd Search::run(const SearchLimits& limits) {
  while (true) {
    if (limits.stop.stop_requested()) return SearchEnd::stopped;
    if (limits.trials && measured_ >= *limits.trials) return SearchEnd::budget;
    if (limits.deadline && Clock::now() >= *limits.deadline) return SearchEnd::budget;

    propose(limits);
    builder_.collect({});
    if (measure_one()) continue;
    if (waiting_.empty()) return SearchEnd::exhausted;
    // Wake up now and then to look at the limits above.
    builder_.collect(Clock::now() + std::chrono::milliseconds(100));
  }
}

void Search::propose(const SearchLimits& limits) {
  const auto room = [&] {
    const auto waiting = static_cast<std::int64_t>(waiting_.size());
    return waiting_.size() < limits.lookahead &&
           (!limits.trials || measured_ + waiting < *limits.trials);
  };
  while (room() && propose_one()) {
  }
}

bool Search::propose_one() {
  for (std::size_t tries = 0; tries < kTurnsOfTheLeader * lanes_.size(); ++tries) {
    const std::size_t round = turn_ / lanes_.size();
    Lane& lane = *lanes_[turn_++ % lanes_.size()];
    const bool passed_over = is_behind(lane) && round % kTurnsOfTheLeader != 0;
    if (passed_over) continue;
    if (const std::optional<std::size_t> index = lane.propose()) {
      const auto ticket =
          builder_.request(lane.kernel(), lane.space().configurations[*index], lane.problem());
      waiting_.push_back({&lane, *index, ticket});
      return true;
    }
  }
  return false;
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

bool Search::measure_one() {
  const auto ready = std::find_if(waiting_.begin(), waiting_.end(), [&](const Proposal& proposal) {
    return builder_.find(proposal.ticket) != nullptr;
  });
  if (ready == waiting_.end()) return false;
  const Proposal proposal = *ready;
  waiting_.erase(ready);

  Lane& lane = *proposal.lane;
  MeasureOptions options;
  if (const Trial* best = lane.best()) {
    options.stop_above_us = kScreeningMargin * best->measurement.median_us;
  }
  Trial trial = runner_.run(lane.kernel(), lane.space().configurations[proposal.index],
                            lane.problem(), *builder_.find(proposal.ticket), options);
  ++measured_;
  sink_(lane, trial);
  lane.record(proposal.index, std::move(trial));
  return true;
}

}  // namespace autotune
