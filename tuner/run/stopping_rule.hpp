// A problem's search may end before its space and its budget do, once its best trial has reached a
// share of the best of its space.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "tuner/run/search_task.hpp"

namespace autotune {

// A lower bound of the share of the best rate that the best trial of these tasks has reached. All
// tasks are of one problem. 0 where the trials are too few to tell.
[[nodiscard]] double reached_share(const std::vector<const SearchTask*>& tasks);

class StoppingRule {
 public:
  // Without a share it never holds. `tasks` are all of the run, searched or not; they outlive this.
  StoppingRule(std::optional<double> share, const std::vector<SearchTask>& tasks);

  // True when the problem's search may end. Checks again when a tenth more trials have been made.
  bool holds(const Problem& problem);
  // True when it held for any problem.
  [[nodiscard]] bool has_held() const;

 private:
  struct Progress {
    std::vector<const SearchTask*> tasks;
    std::size_t next_check = 0;  // number of trials
    bool reached = false;
  };
  std::optional<double> share_;
  std::map<Problem, Progress> problems_;
};

}  // namespace autotune
