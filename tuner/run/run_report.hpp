// The reports of a tuning run to its caller: progress while it runs, and the report at its end.
#pragma once

#include "db/trial_writer.hpp"
#include "tuner/run/plan.hpp"
#include "tuner/run/report.hpp"

namespace autotune {

// Belongs to one thread. All references outlive it.
class RunReport {
 public:
  RunReport(const SearchPlan& plan, const ProgressCallback& callback)
      : plan_(plan), callback_(callback) {}

  // Reports the phase, the trial just made and the device that has just failed to the caller.
  void progress(const char* phase, const Trial* last = nullptr, const DeviceUse* failed = nullptr);
  void add(ProblemResult result);
  // Adds the note that the stored finalists of the stale tasks were timed again.
  void note_stale(const std::vector<SearchTask*>& tasks);
  // Waits until the results are stored, and says so where that takes long. The report has the time
  // that it took, and why results could not be stored.
  void wait_for(TrialWriter& writer);

  TuneReport report;

 private:
  const SearchPlan& plan_;
  const ProgressCallback& callback_;
};

}  // namespace autotune
