// One call of tune(): its steps, and what they share.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "db/trial_writer.hpp"
#include "tuner/compile_pool.hpp"
#include "tuner/completion.hpp"
#include "tuner/finals.hpp"
#include "tuner/kernel_builder.hpp"
#include "tuner/lane.hpp"
#include "tuner/search.hpp"
#include "tuner/trial_runner.hpp"
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

  void make_lanes();
  // In seconds, where the request sets no budget; nullopt: until the space is exhausted.
  [[nodiscard]] std::optional<double> default_budget_s() const;
  void learn_environment();
  void load_stored_winners();
  void load_known_trials();
  // The device's rates from the database, or measured where that is wanted.
  void load_rates(bool measure_missing);
  // For a lane that was complete in another environment: times the best of then again.
  void time_stored_finalists(Lane& lane);
  SearchEnd search(const std::vector<Lane*>& lanes);
  // Decides a problem's winner: by finals where there are new trials, else by what is known.
  void settle(const GemmProblem& problem);
  std::optional<Winner> play_finals(ProblemResult& result, const std::vector<Lane*>& lanes);
  void store(const Winner& winner, const std::vector<Lane*>& lanes);
  TuneReport finished_report();

  [[nodiscard]] std::optional<Winner> known_best(const std::vector<Lane*>& lanes) const;
  [[nodiscard]] std::vector<Lane*> lanes_of(const GemmProblem& problem);
  [[nodiscard]] TrialScope scope_of(const Lane& lane) const;
  [[nodiscard]] std::optional<Winner> stored_winner(const Lane& lane) const;
  [[nodiscard]] Winner winner_from(const Trial& trial, const KernelTemplate& kernel) const;
  const BuiltKernel& wait_for(KernelBuilder::Ticket ticket);
  void record(const Lane& lane, const Trial& trial);
  // Runs a write to the database; what goes wrong goes into the report.
  template <typename Write>
  void storing(Write write);
  void report_progress(const char* phase, const Trial* last);
  [[nodiscard]] bool out_of_time() const;

  TuneRequest request_;  // with the effective strategy and budget, problems merged
  TunerSetup& setup_;
  const ProgressCallback& progress_;
  std::stop_token stop_;
  Clock::time_point start_ = Clock::now();

  std::vector<CandidateSpace> spaces_;
  std::vector<Lane> lanes_;
  std::int64_t total_trials_ = 0;
  Environment environment_;
  RunInfo run_;
  std::vector<Winner> stored_winners_;  // of this silicon class, with configurations of spaces_

  std::unique_ptr<TrialRunner> runner_;
  std::unique_ptr<CompilePool> pool_;
  std::unique_ptr<KernelBuilder> builder_;
  std::unique_ptr<TrialWriter> writer_;
  TuneReport report_;
};

}  // namespace autotune
