// The search: keeps compile workers ahead of the benches, and the benches supplied, until every
// task is exhausted, the budget is used up or somebody asks to stop.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <utility>
#include <vector>

#include "tuner/compile/kernel_builder.hpp"
#include "tuner/devices/device_pool.hpp"
#include "tuner/devices/wake_up.hpp"
#include "tuner/run/other_runs.hpp"
#include "tuner/run/search_task.hpp"
#include "tuner/run/stopping_rule.hpp"

namespace autotune {

struct SearchLimits {
  std::optional<std::chrono::steady_clock::time_point> deadline;
  std::optional<std::int64_t> trials;
  std::optional<double> until;  // a problem's search ends at this share of the best (StoppingRule)
  std::vector<const SearchTask*> judged;  // by which: the tasks of a problem, searched or not
  std::size_t lookahead = 1;  // proposals being compiled, waiting to be measured or measured
  std::stop_token stop;
  // What another run has claimed for longer, with nothing else left to do, is measured here.
  std::chrono::milliseconds patience{0};
};

enum class SearchEnd { exhausted, good_enough, budget, stopped };

// Belongs to one thread. With one device, one compile worker and a limit of trials, what is tried
// depends on the trials' outcomes alone; else on who is done first as well.
class Search {
 public:
  // Called for each trial that was just made.
  using TrialSink = std::function<void(const SearchTask&, const Trial&)>;

  // `wake_up` is raised for kernels that were built and for jobs of the benches that were done.
  // `others` may be null: then every trial is made that has to be. The sink sees to it that a claim
  // is released once its trial is stored.
  Search(std::vector<SearchTask*> tasks, KernelBuilder& builder, DevicePool& benches,
         WakeUp& wake_up, OtherRuns* others, TrialSink sink);

  SearchEnd run(const SearchLimits& limits);

 private:
  struct Proposal {
    SearchTask* task;
    std::size_t index;
    KernelBuilder::Ticket ticket;
    std::int64_t learned;  // how often that had been done when the trial was claimed
  };
  using Claim = std::pair<SearchTask*, std::size_t>;

  [[nodiscard]] std::optional<SearchEnd> reached(const SearchLimits& limits) const;
  // Asks the tasks in turn, so that those who go through a space in the same order share kernels.
  void propose(const SearchLimits& limits);
  bool propose_one();
  [[nodiscard]] bool has_room(const SearchLimits& limits) const;
  // Claims a trial and asks for its kernel, or sets the trial aside while another run has it.
  void enqueue(const Claim& claim, bool patient);
  [[nodiscard]] bool is_behind(const SearchTask& task) const;
  // Gives the benches what is built.
  void submit_built(const SearchLimits& limits);
  void submit(const Proposal& proposal, const SearchLimits& limits);
  void record(const Proposal& proposal, Trial trial);
  // Suggests what did well to the tasks of its template and layout, and keeps what else runs its
  // code for devices that have nothing to do.
  void share(const SearchTask& task, std::size_t index);
  void use_idle_devices(const SearchLimits& limits);
  // The tasks of `task`'s template and layout, itself among them.
  [[nodiscard]] std::vector<SearchTask*> with_the_layout_of(const SearchTask& task) const;
  // Now and then: takes in what other runs have stored, and takes up what they have given up.
  void follow_others(const SearchLimits& limits);
  void learn();
  void release(Claim claim);

  std::vector<SearchTask*> tasks_;
  std::optional<StoppingRule> rule_;  // of the run under way
  KernelBuilder& builder_;
  DevicePool& devices_;
  WakeUp& wake_up_;
  OtherRuns* others_;
  TrialSink sink_;
  std::deque<Proposal> waiting_;  // for their kernels
  std::set<Claim> claimed_;       // until the trial was made
  std::vector<Claim> deferred_;   // other runs have claimed these
  // Trials whose code is there, but not known to be promising: by how many times slower than its
  // task's best the trial was that it was built for.
  std::multimap<double, Claim> reuse_queue_;
  std::int64_t learned_ = 0;  // how often
  std::chrono::steady_clock::time_point next_learning_;
  std::optional<std::chrono::steady_clock::time_point> idle_since_;
  // The best time of each task in microseconds, which the benches screen against.
  std::map<const SearchTask*, std::shared_ptr<std::atomic<double>>> best_us_;
  std::size_t turn_ = 0;
  std::int64_t measured_ = 0;
};

}  // namespace autotune
