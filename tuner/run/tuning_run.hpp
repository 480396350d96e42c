// One call of tune(): its steps, and the mailbox that they wait on.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>

#include "core/mailbox.hpp"
#include "db/trial_writer.hpp"
#include "tuner/compile/compile_pool.hpp"
#include "tuner/compile/kernel_builder.hpp"
#include "tuner/devices/device_pool.hpp"
#include "tuner/run/decision.hpp"
#include "tuner/run/plan.hpp"
#include "tuner/run/run_report.hpp"
#include "tuner/run/search.hpp"
#include "tuner/tuner.hpp"

namespace autotune {

// Used once, by one thread. Compile workers and devices post their outcomes to the mailbox; the
// steps below start work, and handle() takes in what comes of it.
class TuningRun {
 public:
  TuningRun(const TuneRequest& request, TunerSetup& setup, const ProgressCallback& progress,
            std::stop_token stop);
  TuneReport execute();

 private:
  using Clock = std::chrono::steady_clock;

  // False when a request to stop came first.
  bool take_devices();
  void measure_rates();
  // Times the best stored trials of the tasks that were complete in another environment again.
  void retime_stale();
  SearchEnd search();
  void decide(SearchEnd end);
  TuneReport finish(SearchEnd end);

  // Takes in one event. Throws the error of the last device when that has failed.
  void handle(Event event);
  void record(TrialDone done);
  // Takes in the events that have arrived.
  void handle_ready();
  // Takes in events until the devices have done all jobs.
  void finish_jobs();

  TunerSetup& setup_;
  std::stop_token stop_;
  RunInfo run_;
  Plan plan_;
  RunReport report_;
  Mailbox<Event> mailbox_;
  CompilePool pool_;
  KernelBuilder builder_;
  TrialWriter writer_;
  std::optional<Search> search_;      // while it runs
  std::optional<Decision> decision_;  // once it has begun
  // Exists once there is something to measure. Last: its threads end before the rest is destroyed.
  std::unique_ptr<DevicePool> devices_;
};

}  // namespace autotune
