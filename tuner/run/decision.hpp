// The decision on each problem's winner: by finals if the problem still needs them, otherwise from
// the stored results.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <set>
#include <stop_token>
#include <vector>

#include "db/trial_writer.hpp"
#include "tuner/compile/kernel_builder.hpp"
#include "tuner/devices/code_cache.hpp"
#include "tuner/devices/device_pool.hpp"
#include "tuner/run/plan.hpp"
#include "tuner/run/run_report.hpp"

namespace autotune {

// Asks for the kernels of the best known trials of the open problems. Finals need them, and a run
// that was killed has stored trials without their kernels.
void request_known_best(SearchPlan& plan, KernelBuilder& builder);

// Belongs to one thread. All references outlive it.
class Decision {
 public:
  // `devices` is null when nothing had to be measured; then there are no finals.
  Decision(SearchPlan& plan, KernelBuilder& builder, DevicePool* devices, TrialWriter& writer,
           RunReport& report, SearchEnd end, std::stop_token stop);

  // Gives the devices the finals whose kernels are built. One problem's finals run on one device,
  // those of different problems on different devices at the same time.
  void submit_finals();
  [[nodiscard]] bool has_open_finals() const { return open_finals_ > 0; }
  // The problems for whose finals the budget's time was over before they had had their first
  // rounds.
  [[nodiscard]] const std::set<Problem>& missed_finals() const { return missed_finals_; }
  // Takes the outcome of a problem's finals and stores the winner.
  void record(FinalsDone done);
  // Completes the report once no finals are open.
  void report_results();

 private:
  // A problem whose winner has not been decided yet.
  struct Undecided {
    ProblemResult result;
    std::vector<SearchTask*> tasks;
    std::vector<Finalist> candidates;  // for the finals, the preferred ones first
    std::size_t next = 0;              // the first candidate that has not been considered
    std::size_t most = 0;              // the largest number of finalists
    std::vector<Finalist> finalists;
    std::set<Execution> executions;  // of the finalists
  };

  void prepare_finals(SearchEnd end);
  // Takes the candidates that are built, except those that run what another finalist runs. True
  // once the finalists are complete.
  bool add_built(Undecided& undecided);
  [[nodiscard]] std::optional<FinalsJob::TimeShare> time_share(std::size_t finals_left) const;
  void declare_winner(Undecided& undecided, const FinalsResult& finals);

  SearchPlan& plan_;
  KernelBuilder& builder_;
  DevicePool* devices_;
  TrialWriter& writer_;
  RunReport& report_;
  std::stop_token stop_;
  std::vector<Undecided> problems_;
  std::deque<std::size_t> to_submit_;  // the problems whose finals have not been submitted
  std::size_t open_finals_ = 0;
  std::set<Problem> missed_finals_;
};

}  // namespace autotune
