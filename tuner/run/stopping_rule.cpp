#include "tuner/run/stopping_rule.hpp"

#include <algorithm>
#include <optional>

#include "tuner/run/plan.hpp"

namespace autotune {

double reached_share(const std::vector<SearchTask*>& tasks) {
  if (std::ranges::none_of(tasks, [](const SearchTask* one) { return one->best() != nullptr; })) {
    return 0;
  }
  if (std::ranges::all_of(tasks, &SearchTask::exhausted)) return 1;
  // Trials of one template, which another request may have made, say nothing about the others.
  const bool is_fair = std::ranges::all_of(tasks, &SearchTask::had_fair_trial);
  return is_fair ? tasks.front()->convergence().reached_share() : 0;
}

bool StoppingRule::holds(const Problem& problem) {
  const std::optional<double> share = plan_.request().until;
  if (!share) return false;
  if (reached_.contains(problem)) return true;
  if (reached_share(plan_.tasks_of(problem)) < *share) return false;
  reached_.insert(problem);
  return true;
}

}  // namespace autotune
