// Runs built kernels in a measuring worker and records the outcomes as trials.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "core/trial.hpp"
#include "kernel_templates/kernel_template.hpp"
#include "tuner/compile/kernel_builder.hpp"
#include "tuner/devices/code_cache.hpp"
#include "tuner/devices/time_limit.hpp"
#include "tuner/worker/worker.hpp"

namespace autotune {

// The options of one measurement.
struct MeasureOptions {
  bool verify = true;
  TimingPlan timing = {};
  InputData input = InputData::uniform;
  double expected_launch_us = 0;  // by an earlier launch; the time limit follows it; 0: unknown
  bool once_per_code = false;     // machine code that was measured before is not measured again
  std::optional<std::chrono::steady_clock::time_point> end = {};  // the deadline
};

// True if the trial was ended because of `options.end`, which says nothing about the kernel.
[[nodiscard]] bool was_cut_short(const Trial& trial, const MeasureOptions& options);

// Belongs to one thread, which must outlive it (see make_process_worker).
class TrialRunner {
 public:
  // `allowance` is the time a call to a new worker may take besides the kernel's own work.
  // `share` is the part of the device's time that it takes (MeasuringDevice::share).
  TrialRunner(const WorkerFactory& make_worker, std::chrono::milliseconds allowance,
              double share = 1);

  // Verifies and times a kernel. The trial records a failure of the kernel. Throws EnvironmentError
  // when workers keep dying, since that is not the kernels' fault. A worker that could not be
  // killed keeps the device, so every further call of a function that needs a worker throws.
  Trial run(const KernelTemplate& kernel, const Configuration& configuration,
            const Problem& problem, const BuiltKernel& built, const MeasureOptions& options);

  // Times an algorithm of a baseline (gpu/baseline.hpp) on the same problem and data. The trial's
  // detail is the baseline's version, or why it could not be timed.
  Trial run_baseline(const std::string& name, int algorithm, const Operation& operation,
                     const Problem& problem, const MeasureOptions& options);

  // Ends the call under way, which fails, and all later ones. May be called from any thread.
  void interrupt() { worker_->interrupt(); }

  // The device's measured rates. Throws EnvironmentError when it cannot be used at all.
  CalibrateReply calibrate();

  // Returns whether a worker could not be killed.
  [[nodiscard]] bool is_stuck() const { return !stuck_.empty(); }
  // The number of trials that were not measured, since another one ran the same machine code.
  [[nodiscard]] std::int64_t duplicate_kernels() const { return code_cache_.reused(); }
  // The time spent in calls, and the number of workers that died or were killed.
  [[nodiscard]] double busy_s() const { return busy_s_; }
  [[nodiscard]] int failures() const { return failures_; }

 private:
  WorkerOutcome call(const WorkerRequest& request, CallLimit limit);
  WorkerOutcome call_once(const WorkerRequest& request, CallLimit limit);
  Trial measure(const Operation& operation, MeasureRequest request, const MeasureOptions& options,
                Trial trial);

  std::unique_ptr<Worker> worker_;
  double share_;
  std::chrono::milliseconds allowance_;
  RunTimeLimit time_limit_;
  CodeCache code_cache_;
  double busy_s_ = 0;
  int failures_ = 0;
  int failures_in_a_row_ = 0;
  std::string stuck_;  // the failure of a worker that could not be killed
};

}  // namespace autotune
