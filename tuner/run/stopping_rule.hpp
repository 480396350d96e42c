// The rule that ends a problem's search early, once its best trial has reached a share of the best
// of its spaces.
#pragma once

#include <set>
#include <vector>

#include "tuner/run/search_task.hpp"

namespace autotune {

class SearchPlan;

// The share of the best rate of their spaces that the best trial of these tasks, which are all of
// one problem, has reached (tuner/search/convergence.hpp). 1 once their spaces are exhausted.
[[nodiscard]] double reached_share(const std::vector<SearchTask*>& tasks);

class StoppingRule {
 public:
  // The share is that of the plan's request; without one the rule never holds. `plan` outlives
  // this object.
  explicit StoppingRule(const SearchPlan& plan) : plan_(plan) {}

  // True when the problem's search may end. Once it holds, it goes on to.
  bool holds(const Problem& problem);
  // Returns whether the rule has held for any problem.
  [[nodiscard]] bool has_held() const { return !reached_.empty(); }

 private:
  const SearchPlan& plan_;
  std::set<Problem> reached_;
};

}  // namespace autotune
