#include "tuner/run/stopping_rule.hpp"

#include <algorithm>

namespace autotune {

double reached_share(const std::vector<const SearchTask*>& tasks) {
  if (std::ranges::none_of(tasks, [](const SearchTask* one) { return one->best() != nullptr; })) {
    return 0;
  }
  if (std::ranges::all_of(tasks, &SearchTask::exhausted)) return 1;
  // Trials of one template, which another request may have made, say nothing about the others.
  const bool is_fair = std::ranges::all_of(tasks, &SearchTask::had_fair_trial);
  return is_fair ? tasks.front()->convergence().reached_share() : 0;
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
