#include "tuner/run/stopping_rule.hpp"

#include <algorithm>
#include <limits>

namespace autotune {

double reached_share(const std::vector<const SearchTask*>& tasks) {
  double floor_us = std::numeric_limits<double>::infinity();
  double best_us = std::numeric_limits<double>::infinity();
  for (const SearchTask* task : tasks) {
    const Trial* const best = task->best();
    if (best != nullptr) best_us = std::min(best_us, best->measurement.median_us);
    if (!task->exhausted()) floor_us = std::min(floor_us, task->convergence().floor_us());
  }
  const bool any = best_us < std::numeric_limits<double>::infinity();
  return any ? reached_share(floor_us, best_us) : 0;
}

StoppingRule::StoppingRule(std::optional<double> share, const std::vector<SearchTask>& tasks)
    : share_(share) {
  for (const SearchTask& task : tasks) problems_[task.problem()].tasks.push_back(&task);
}

bool StoppingRule::holds(const Problem& problem) {
  if (!share_) return false;
  Progress& progress = problems_.at(problem);
  progress.reached = progress.reached || reached_share(progress.tasks) >= *share_;
  return progress.reached;
}

bool StoppingRule::has_held() const {
  return std::any_of(problems_.begin(), problems_.end(),
                     [](const auto& entry) { return entry.second.reached; });
}

}  // namespace autotune
