// The other runs that use the same database at the same time: what they have measured, and what
// they are about to.
#pragma once

#include <cstddef>
#include <vector>

#include "autotune/error.hpp"

#include "tuner/run/search_task.hpp"
#include "tuner/run/stored_results.hpp"
#include "tuner/run/trial_claims.hpp"

namespace autotune {

// Belongs to one thread. All references outlive this.
//
// A trial is measured by the run that has claimed it, and only when learn(), called after that, has
// not brought it; the claim is kept until the trial is stored. So none is measured twice.
class OtherRuns {
 public:
  OtherRuns(const TrialClaims& claims, StoredResults& stored, std::vector<SearchTask>& tasks)
      : claims_(claims), stored_(stored), tasks_(tasks) {}

  // False when another run has claimed it.
  [[nodiscard]] bool claim(const SearchTask& task, std::size_t index) {
    return claims_.claim(key_of(task, index));
  }
  void release(const SearchTask& task, std::size_t index) { claims_.release(key_of(task, index)); }

  // Gives the tasks what was stored since the last time. What cannot be read is left for the next.
  void learn() {
    try {
      stored_.load_trials(tasks_);
    } catch (const StorageError&) {
      return;
    }
  }

 private:
  [[nodiscard]] TrialClaims::Key key_of(const SearchTask& task, std::size_t index) const {
    return TrialClaims::key_of(stored_.scope_of(task.kernel()), task.problem(),
                               task.space().configurations[index]);
  }

  const TrialClaims& claims_;
  StoredResults& stored_;
  std::vector<SearchTask>& tasks_;
};

}  // namespace autotune
