// When a problem's search may end before its space and its budget do: once the best that was found
// has reached a share of the best that there is to find.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "tuner/run/search_task.hpp"

namespace autotune {

// The share of the best rate of the spaces of these tasks, all of one problem, that its best trial
// has reached at least; 0 where nothing can be said.
[[nodiscard]] double reached_share(const std::vector<const SearchTask*>& tasks);

class StoppingRule {
 public:
  // Without a share it never holds.
  StoppingRule(std::optional<double> share, const std::vector<const SearchTask*>& tasks);

  // Whether the problem's search may end. Looks again when a tenth more trials have been made.
  bool holds(const Problem& problem);
  // Whether it held for any problem.
  [[nodiscard]] bool has_held() const;

 private:
  struct Progress {
    std::vector<const SearchTask*> tasks;
    std::size_t next_look = 0;  // trials
    bool reached = false;
  };
  std::optional<double> share_;
  std::map<Problem, Progress> problems_;
};

}  // namespace autotune
