// The rule that ends a problem's search early, once its best trial has reached a share of the best
// of its spaces.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "tuner/run/search_task.hpp"

namespace autotune {

// The share of the best rate of their spaces that the best trial of these tasks, which are all of
// one problem, has reached (tuner/search/convergence.hpp). 1 once their spaces are exhausted.
[[nodiscard]] double reached_share(const std::vector<const SearchTask*>& tasks);

class StoppingRule {
 public:
  // Without a share the rule never holds. `tasks` are all tasks of the run, searched or not; they
  // outlive this object.
  StoppingRule(std::optional<double> share, const std::vector<SearchTask>& tasks);

  // True when the problem's search may end.
  bool holds(const Problem& problem);
  // Returns whether the rule has held for any problem.
  [[nodiscard]] bool has_held() const;

 private:
  struct Progress {
    std::vector<const SearchTask*> tasks;
    bool reached = false;
  };
  std::optional<double> share_;
  std::map<Problem, Progress> problems_;
};

}  // namespace autotune
