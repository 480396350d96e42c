// One call of tune(): its steps, and what they share.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "db/trial_writer.hpp"
#include "tuner/compile/compile_pool.hpp"
#include "tuner/compile/kernel_builder.hpp"
#include "tuner/devices/device_pool.hpp"
#include "tuner/devices/wake_up.hpp"
#include "tuner/run/completion.hpp"
#include "tuner/run/finals.hpp"
#include "tuner/run/search.hpp"
#include "tuner/run/search_task.hpp"
#include "tuner/run/stored_results.hpp"
#include "tuner/run/trial_claims.hpp"
#include "tuner/tuner.hpp"

namespace autotune {

// Used once, by one thread.
class TuningRun {
 public:
  TuningRun(const TuneRequest& request, TunerSetup& setup, const ProgressCallback& progress,
            std::stop_token stop);
  TuneReport execute();

 private:
  using Clock = std::chrono::steady_clock;

  // A problem on its way to its winner.
  struct FinalRanking {
    ProblemResult result;
    std::vector<SearchTask*> tasks;
  };

  void make_tasks();
  // In seconds, where the request sets no budget; nullopt: until the space is exhausted.
  [[nodiscard]] std::optional<double> default_budget_s() const;
  void learn_environment();
  // Takes in what is known and sorts out the tasks with something left to do.
  void plan();
  // Whether the problem's winner was not chosen from all that is known: other requests found
  // trials, or a run ended before its finals. A search that finds what is known good enough leaves
  // it at that.
  [[nodiscard]] bool lacks_finals(const Problem& problem, SearchEnd end) const;
  // False when somebody asked to stop first.
  bool take_devices();
  void measure_rates();
  // For a task that was complete in another environment: has the best of then timed again.
  void time_stored_finalists(SearchTask& task);
  SearchEnd search();
  // Decides the problems' winners: by finals where they are lacking, else by what is known.
  void settle(SearchEnd end);
  // Of different problems on different devices at the same time, of one problem on one device. They
  // have been played once the benches have settled; the contests are kept until then.
  void start_finals(std::vector<FinalRanking>& contests, SearchEnd end);
  void declare_winner(FinalRanking& contest, const std::vector<Finalist>& finalists,
                      const Ranking& ranking);
  TuneReport finished_report(SearchEnd end);

  const BuiltKernel& build(const KernelTemplate& kernel, const Configuration& configuration,
                           const Problem& problem);
  void record(const SearchTask& task, const Trial& trial);
  // Runs a write to the database; what goes wrong goes into the report.
  template <typename Write>
  void storing(Write write);
  void report_progress(const char* phase, const Trial* last, const DeviceUse* failed = nullptr);

  TuneRequest request_;  // with the effective strategy and budget, problems merged
  TunerSetup& setup_;
  const ProgressCallback& progress_;
  std::stop_token stop_;
  Clock::time_point start_;  // of the budget

  std::vector<CandidateSpace> spaces_;
  std::vector<SearchTask> tasks_;
  std::vector<SearchTask*> open_;   // to be searched
  std::vector<SearchTask*> stale_;  // complete in another environment
  std::int64_t total_trials_ = 0;
  RunInfo run_;
  std::optional<StoredResults> stored_;
  std::optional<Completion> completion_;

  WakeUp wake_up_;
  std::unique_ptr<CompilePool> pool_;
  std::unique_ptr<KernelBuilder> builder_;
  std::optional<TrialClaims> claims_;
  std::unique_ptr<TrialWriter> writer_;
  std::unique_ptr<DevicePool> devices_;  // once there is something to measure
  TuneReport report_;
};

}  // namespace autotune
