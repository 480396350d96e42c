// One call of tune(): its steps, and the mailbox that they wait on.
#pragma once

#include <chrono>
#include <exception>
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
#include "tuner/run/search_loop.hpp"
#include "tuner/run/tuner.hpp"

namespace autotune {

// Used once, by one thread. The steps below start work; compile workers and devices post its
// outcomes to the mailbox, and handle() processes them.
class TuningRun {
 public:
  TuningRun(const TuneRequest& request, TunerSetup& setup, const ProgressCallback& progress,
            std::stop_token stop);
  TuneReport execute();

 private:
  using Clock = std::chrono::steady_clock;

  // Waits until a device can be used. Returns false when a request to stop came first.
  bool take_devices();
  // On a GPU they are measured while the first kernels are compiled.
  void measure_rates();
  // Takes the tasks that were complete in another environment, and times their best stored trials
  // again.
  void retime_stale();
  // The search ends after this share of the budget's time, and its last trials end halfway between
  // that and the end of the budget.
  [[nodiscard]] double search_share() const;
  [[nodiscard]] double last_trial_share() const { return (1 + search_share()) / 2; }
  SearchEnd search();
  void decide(SearchEnd end);
  TuneReport finish(SearchEnd end);

  void handle(Event event);
  // Ends the run like a request to stop, because nothing more can be compiled or measured.
  void give_up(std::exception_ptr error);
  void record(TrialDone done);
  // Processes the next event, if one arrives before the limits have to be checked.
  void handle_one();
  // Processes events until the devices have done all jobs.
  void finish_jobs();

  struct RequestStop {
    std::stop_source source;
    void operator()() { source.request_stop(); }
  };

  TunerSetup& setup_;
  std::stop_source ending_;
  std::stop_callback<RequestStop> caller_;  // passes on the caller's request
  std::stop_token stop_ = ending_.get_token();
  std::exception_ptr failure_;
  bool was_interrupted_ = false;  // by the caller, before the failure
  RunInfo run_;
  SearchPlan plan_;
  RunReport report_;
  Mailbox<Event> mailbox_;
  CompilePool pool_;
  KernelBuilder builder_;
  TrialWriter writer_;
  std::optional<Search> search_;      // while it runs
  std::optional<Decision> decision_;  // once it has begun
  bool retimed_ = true;               // all stale tasks were timed again
  // Exists once there is something to measure. It is the last member, so that its threads end
  // before the others are destroyed.
  std::unique_ptr<DevicePool> devices_;
};

}  // namespace autotune
