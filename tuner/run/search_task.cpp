#include "tuner/run/search_task.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace autotune {

CandidateSpace::CandidateSpace(const KernelTemplate& template_, std::vector<Configuration> valid,
                               std::optional<Problem> only)
    : kernel(&template_),
      configurations(std::move(valid)),
      problem(std::move(only)),
      sorted_(configurations.size()) {
  std::iota(sorted_.begin(), sorted_.end(), std::uint32_t{0});
  // Enumerated configurations are mostly sorted already.
  if (std::is_sorted(configurations.begin(), configurations.end())) return;
  std::ranges::sort(sorted_, [this](std::uint32_t a, std::uint32_t b) {
    return configurations[a] < configurations[b];
  });
}

std::optional<std::size_t> CandidateSpace::index_of(const Configuration& configuration) const {
  const auto place = std::lower_bound(sorted_.begin(), sorted_.end(), configuration,
                                      [this](std::uint32_t index, const Configuration& one) {
                                        return configurations[index] < one;
                                      });
  if (place == sorted_.end() || configurations[*place] != configuration) return std::nullopt;
  return *place;
}

std::vector<std::size_t> CandidateSpace::with_the_code_of(std::size_t index) const {
  std::vector<std::size_t> result;
  for (const Configuration& one : autotune::with_the_code_of(*kernel, configurations[index])) {
    if (const auto place = index_of(one)) result.push_back(*place);
  }
  return result;
}

SearchTask::SearchTask(std::size_t id, const Problem& asked, const Problem& problem,
                       const CandidateSpace& space, const std::string& strategy, std::uint64_t seed,
                       Prior estimate, const std::vector<WarmStart>& starts,
                       std::shared_ptr<Convergence> convergence, std::optional<double> max_error)
    : id_(id),
      asked_(asked),
      problem_(problem),
      space_(&space),
      strategy_(make_strategy(strategy, {&space.configurations, seed, std::move(estimate)})),
      convergence_(std::move(convergence)),
      max_error_(max_error) {
  for (const WarmStart& start : starts) {
    const auto index = space.index_of(start.configuration);
    if (!index) continue;
    if (try_reserve(*index)) starts_.push_back(*index);
    if (start.is_expected) expected_.push_back(*index);
    if (start.won_here) won_.insert(*index);
    if (!start.other_device.empty()) began_with_.insert(start.other_device);
  }
}

std::optional<std::size_t> SearchTask::propose() {
  if (auto index = next_of(starts_)) return index;
  if (auto index = next_of(suggested_)) return index;
  // The strategy learns of the configurations above only when they have been measured, so it may
  // propose them again until then.
  std::optional<std::size_t> index = strategy_->next();
  while (index && !named_.insert(*index).second) index = strategy_->next();
  return index;
}

std::optional<std::size_t> SearchTask::next_of(std::deque<std::size_t>& queue) const {
  while (!queue.empty()) {
    const std::size_t index = queue.front();
    queue.pop_front();
    if (!trials_.contains(index)) return index;
  }
  return std::nullopt;
}

void SearchTask::suggest(std::size_t index) {
  if (try_reserve(index)) suggested_.push_back(index);
}

void SearchTask::record(std::size_t index, Trial trial) {
  Trial seen = trial;
  if (trial.ok() && !accepts(trial)) {
    has_rejected_ = true;
    seen.status = TrialStatus::wrong_result;
  }
  strategy_->report(index, seen);
  convergence_->report(seen);
  const Trial& stored = trials_.insert_or_assign(index, std::move(trial)).first->second;
  if (!accepts(stored)) return;
  best_time_->lower(stored.measurement.median_us);
  const Trial* leader = best();
  if (leader == nullptr || stored.measurement.median_us < leader->measurement.median_us) {
    best_ = index;
  }
}

void SearchTask::record_known(Trial trial) {
  const std::optional<std::size_t> index = space_->index_of(trial.configuration);
  if (!index || trials_.contains(*index)) return;
  ++known_;
  record(*index, std::move(trial));
}

bool SearchTask::had_fair_trial() const {
  if (exhausted()) return true;
  return trials_.size() >= kFairTrials && std::ranges::all_of(expected_, [this](std::size_t start) {
           return trials_.contains(start);
         });
}

const Trial* SearchTask::best() const {
  return best_ ? &trials_.at(*best_) : nullptr;
}

}  // namespace autotune
