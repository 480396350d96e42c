// The search. It keeps the compile workers ahead of the devices, and the devices busy, until every
// task is exhausted or has reached its share, the budget is used up or a stop is requested.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <stop_token>
#include <utility>
#include <vector>

#include "tuner/compile/kernel_builder.hpp"
#include "tuner/devices/device_pool.hpp"
#include "tuner/run/plan.hpp"
#include "tuner/run/stopping_rule.hpp"

namespace autotune {

struct SearchLimits {
  std::optional<std::chrono::steady_clock::time_point> deadline;
  // A trial that has not ended by then is given up.
  std::optional<std::chrono::steady_clock::time_point> end;
  std::optional<std::int64_t> trials;
  // The number of kernels that are to be compiled at a time. Empty: a trial is proposed when the
  // one before has ended.
  std::optional<std::size_t> compiled_ahead;
  std::stop_token stop;
  // When nothing else is left to do, a trial that another run has claimed is made here after this
  // time, or after a part of the time to the deadline if that is less.
  std::chrono::steady_clock::duration patience{0};
};

// Belongs to one thread. With one device, one compile worker and a limit of trials, the choice of
// trials depends on the outcomes alone; otherwise also on the order in which jobs end.
class Search {
 public:
  // All references outlive this.
  Search(SearchPlan& plan, KernelBuilder& builder, DevicePool& devices, SearchLimits limits);

  // Does everything that can be done now, and returns the reason once the search has ended. Until
  // then it must be called again after each event, and regularly to check the limits.
  std::optional<SearchEnd> advance();
  // To be called when a trial was made and its task has recorded it.
  void record(TrialId id);
  // Returns whether only trials are left that other runs have claimed.
  [[nodiscard]] bool waits_for_others() const { return patient_until_.has_value(); }
  // Gives up the claims on trials that were not made.
  void release_claims();

 private:
  using Clock = std::chrono::steady_clock;
  using Claim = std::pair<SearchTask*, std::size_t>;
  struct Proposal {
    Claim claim;
    KernelBuilder::Ticket ticket;
    std::int64_t learned;  // the value of learned_ when the trial was claimed
  };

  [[nodiscard]] std::optional<SearchEnd> reached() const;
  // Returns whether all problems have reached the share that was asked for.
  [[nodiscard]] bool all_hold();
  // Returns how long trials that other runs have claimed are waited for from now on.
  [[nodiscard]] Clock::duration patience() const;
  // Asks the tasks in turn, so that those that go through a space in the same order share kernels.
  void propose();
  bool propose_one();
  [[nodiscard]] bool has_room() const;
  [[nodiscard]] bool has_trials_left(std::size_t under_way) const;
  // Claims a trial and asks for its kernel, or defers the trial while another run has claimed it.
  void enqueue(const Claim& claim, bool patient);
  // The task has a turn in one of so many rounds: more than one where another template is clearly
  // faster for its problem, or the only one that keeps to the limit of the error.
  [[nodiscard]] std::size_t rounds_of(const SearchTask& task) const;
  // Gives the devices the trials whose kernels are built.
  void submit_built();
  void submit(const Proposal& proposal);
  // Suggests a good trial to the tasks of the same template and layout, and queues the other
  // configurations with its code for idle devices.
  void share(const SearchTask& task, std::size_t index);
  void use_idle_devices();
  // The tasks of `task`'s template and layout, itself among them.
  [[nodiscard]] std::vector<SearchTask*> with_the_layout_of(const SearchTask& task) const;
  // From time to time, learns the trials that other runs have stored, and claims those that they
  // gave up.
  void follow_others();
  void learn();
  [[nodiscard]] SharedTrials::Key key_of(const Claim& claim) const;
  void release(const Claim& claim);

  SearchPlan& plan_;
  const std::vector<SearchTask*>& tasks_;
  KernelBuilder& builder_;
  DevicePool& devices_;
  SearchLimits limits_;
  StoppingRule rule_;
  std::deque<Proposal> waiting_;  // for their kernels or for room in the queue of the devices
  std::set<Claim> claimed_;       // the trials of this run that are not made yet
  std::vector<Claim> deferred_;   // the trials that other runs have claimed
  // Untested candidates whose kernels are built. The key is the time of the trial for which the
  // kernel was built, relative to the best time of that trial's task.
  std::multimap<double, Claim> reuse_queue_;
  std::int64_t learned_ = 0;  // the number of calls of learn()
  Clock::time_point next_learning_;
  // The time from which trials that other runs have claimed are made here, if only such are left.
  std::optional<Clock::time_point> patient_until_;
  std::size_t turn_ = 0;
  std::int64_t measured_ = 0;
};

}  // namespace autotune
