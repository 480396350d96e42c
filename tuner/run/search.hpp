// The search: keeps compile workers ahead of the devices, and the devices supplied, until every
// task is exhausted, the budget is used up or a stop is requested.
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
  std::optional<std::int64_t> trials;
  std::size_t lookahead = 1;  // proposals that are compiled, wait to be measured or are measured
  std::stop_token stop;
  // A trial that another run has claimed for longer, with nothing else left to do, is made here.
  std::chrono::milliseconds patience{0};
};

// Belongs to one thread. With one device, one compile worker and a limit of trials, the choice of
// trials depends on the outcomes alone; otherwise also on the order in which jobs end.
class Search {
 public:
  // All references outlive this.
  Search(Plan& plan, KernelBuilder& builder, DevicePool& devices, SearchLimits limits);

  // Does everything that can be done now. Gives the reason once the search has ended; until then it
  // must be called again after each event, and regularly to check the limits.
  std::optional<SearchEnd> advance();
  // The trial was made and its task knows it.
  void record(TrialId id);
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
  // Asks the tasks in turn, so that those that go through a space in the same order share kernels.
  void propose();
  bool propose_one();
  [[nodiscard]] bool has_room() const;
  // Claims a trial and asks for its kernel, or defers the trial while another run has claimed it.
  void enqueue(const Claim& claim, bool patient);
  // True when another template is clearly faster for the task's problem.
  [[nodiscard]] bool is_behind(const SearchTask& task) const;
  // Gives the devices the trials whose kernels are built.
  void submit_built();
  void submit(const Proposal& proposal);
  // Suggests a good trial to the tasks of the same template and layout, and queues the other
  // configurations with its code for idle devices.
  void share(const SearchTask& task, std::size_t index);
  void use_idle_devices();
  // The tasks of `task`'s template and layout, itself among them.
  [[nodiscard]] std::vector<SearchTask*> with_the_layout_of(const SearchTask& task) const;
  // Takes in, from time to time, what other runs have stored and the trials that they gave up.
  void follow_others();
  void learn();
  [[nodiscard]] SharedTrials::Key key_of(const Claim& claim) const;
  void release(const Claim& claim);

  Plan& plan_;
  const std::vector<SearchTask*>& tasks_;
  KernelBuilder& builder_;
  DevicePool& devices_;
  SearchLimits limits_;
  StoppingRule rule_;
  std::deque<Proposal> waiting_;  // for their kernels
  std::set<Claim> claimed_;       // until the trial is made
  std::vector<Claim> deferred_;   // other runs have claimed these
  // Compiled but untested candidates, by the slowdown of the trial that compiled them against the
  // best of its task.
  std::multimap<double, Claim> reuse_queue_;
  std::int64_t learned_ = 0;  // the number of calls of learn()
  Clock::time_point next_learning_;
  std::optional<Clock::time_point> idle_since_;
  std::size_t turn_ = 0;
  std::int64_t measured_ = 0;
};

}  // namespace autotune
