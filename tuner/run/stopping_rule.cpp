#include "tuner/run/stopping_rule.hpp"

#include <algorithm>

#include "tuner/search/regret.hpp"

namespace autotune {

double reached_share(const std::vector<const SearchTask*>& tasks) {
  std::vector<RegretEstimate> estimates;
  const Trial* best = nullptr;
  for (const SearchTask* task : tasks) {
    estimates.emplace_back(task->space().configurations, task->trials(), task->estimate());
    const Trial* own = task->best();
    if (own == nullptr) continue;
    if (best == nullptr || own->measurement.median_us < best->measurement.median_us) best = own;
  }
  return best == nullptr ? 0 : regret_bound(estimates, best->measurement.median_us);
}

StoppingRule::StoppingRule(std::optional<double> share, const std::vector<SearchTask>& tasks)
    : share_(share) {
  for (const SearchTask& task : tasks) {
    Progress& progress = problems_[task.problem()];
    progress.tasks.push_back(&task);
    progress.next_check = kFirstCheck;
  }
}

bool StoppingRule::holds(const Problem& problem) {
  if (!share_) return false;
  Progress& progress = problems_.at(problem);
  std::size_t trials = 0;
  for (const SearchTask* task : progress.tasks) trials += task->trials().size();
  if (progress.reached || trials < progress.next_check) return progress.reached;
  progress.next_check = next_check(trials);
  progress.reached = reached_share(progress.tasks) >= *share_;
  return progress.reached;
}

bool StoppingRule::has_held() const {
  return std::any_of(problems_.begin(), problems_.end(),
                     [](const auto& entry) { return entry.second.reached; });
}

}  // namespace autotune
