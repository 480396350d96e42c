// The plan of a tuning run: the tasks of its request, their stored results, and the tasks that are
// still open.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tuner/run/completion.hpp"
#include "tuner/run/request.hpp"
#include "tuner/run/search_task.hpp"
#include "tuner/run/setup.hpp"
#include "tuner/run/shared_trials.hpp"
#include "tuner/run/stored_results.hpp"

namespace autotune {

// Belongs to one thread. All references outlive it.
class SearchPlan {
 public:
  using Clock = std::chrono::steady_clock;

  // Throws UsageError for an empty space, EnvironmentError when no problem fits the device's memory
  // or no worker can compile.
  SearchPlan(const TuneRequest& request, const TunerSetup& setup, std::string run_guid);

  // Loads the stored results and sorts the tasks into open, stale and complete ones.
  void update();

  // The request with its effective strategy and budget.
  [[nodiscard]] const TuneRequest& request() const { return request_; }
  [[nodiscard]] const DescribeCompilerReply& compiler() const { return compiler_; }
  // The time from which the budget counts.
  [[nodiscard]] Clock::time_point start() const { return start_; }
  // Moves the start, because time spent waiting for other programs does not count.
  void postpone(Clock::duration waited) { start_ += waited; }
  // The part of the devices' time that the run takes (MeasuringDevice::share).
  [[nodiscard]] double device_share() const { return setup_.measuring.front().share; }
  // The end of this share of the budget's time; empty if the time is not limited.
  [[nodiscard]] std::optional<Clock::time_point> deadline(double share) const;
  [[nodiscard]] bool is_over(double share) const;

  [[nodiscard]] std::vector<SearchTask>& tasks() { return tasks_; }
  [[nodiscard]] const std::vector<SearchTask>& tasks() const { return tasks_; }
  // The tasks that answer one of the request's problems; none if it is too large.
  [[nodiscard]] const std::vector<SearchTask*>& tasks_of(const Problem& problem) const;
  // Returns why the device's memory is too small for a problem; empty if it is large enough.
  [[nodiscard]] std::string too_large(const Problem& problem) const;
  // The tasks to be searched.
  [[nodiscard]] const std::vector<SearchTask*>& open() const { return open_; }
  // The tasks that were complete in another environment, whose finalists are timed again.
  [[nodiscard]] const std::vector<SearchTask*>& stale() const { return stale_; }
  // A request with a baseline always has work, because a baseline is timed in finals and not
  // stored.
  [[nodiscard]] bool has_work() const {
    return !open_.empty() || !stale_.empty() || !undecided_.empty() || !request_.baseline.empty();
  }
  // The size of the space over all tasks.
  [[nodiscard]] std::int64_t total_trials() const { return total_trials_; }

  [[nodiscard]] StoredResults& stored() { return *stored_; }
  [[nodiscard]] SharedTrials& shared() { return *shared_; }

  // True when a winner of the problem is stored for this environment.
  [[nodiscard]] bool has_winner(const Problem& problem) const;
  // True when the problem's winner was not chosen from all that is known: other requests made
  // trials, a run was stopped, or the time of one that completed the search was over before the
  // finals. A search to a share that the request names needs no
  // finals where what is known reaches it and there is a winner.
  [[nodiscard]] bool lacks_finals(const Problem& problem, SearchEnd end) const;
  // The rows that record that the run's tasks are complete, and its stale tasks if they were
  // `retimed`. A problem that missed its finals is complete if it has no winner, which tells the
  // next run that only the finals are left.
  [[nodiscard]] std::vector<CompletedRequest> completed(
      SearchEnd end, bool retimed, const std::set<Problem>& missed_finals) const;

 private:
  // Returns the time that is left of the budget, within limits.
  [[nodiscard]] std::chrono::milliseconds compiler_timeout() const;
  void make_spaces();
  // A problem that is searched for in a space, and the problem of the request that it answers.
  struct PlannedSearch {
    Problem asked;
    Problem problem;
    const CandidateSpace* space;
  };
  [[nodiscard]] std::vector<PlannedSearch> planned_searches() const;
  // The results that searches may begin with: those of the database, those that ship, and those
  // that the request names.
  [[nodiscard]] std::vector<Winner> known_winners(const std::string& device_class) const;
  [[nodiscard]] bool is_searched(const Suggestion& suggestion) const;
  void make_tasks();
  void choose_budget_and_strategy();
  // Returns whether the trials of a search that ended so can be read. Rows may be damaged, or
  // merged from a file that has lost trials.
  [[nodiscard]] bool has_trials_of(const SearchTask& task, SearchEnd end) const;
  void find_undecided();
  // Returns false when the budget did not suffice for a single trial of the task's problem.
  [[nodiscard]] bool was_tried(const SearchTask& task) const;

  TuneRequest request_;
  bool ends_by_default_ = false;  // the request has no end of its own
  const TunerSetup& setup_;
  Clock::time_point start_;
  std::vector<CandidateSpace> spaces_;
  std::vector<SearchTask> tasks_;
  std::map<Problem, std::vector<SearchTask*>> tasks_of_;
  std::vector<SearchTask*> open_;
  std::vector<SearchTask*> stale_;
  std::set<Problem> undecided_;  // searched to the end, and without a winner
  std::int64_t total_trials_ = 0;
  DescribeCompilerReply compiler_;
  std::optional<StoredResults> stored_;
  std::optional<SharedTrials> shared_;
  std::optional<Completion> completion_;
};

}  // namespace autotune
