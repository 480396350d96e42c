// The measuring worker of one device, which does the device's jobs.
#pragma once

#include <chrono>
#include <stop_token>

#include "tuner/devices/jobs.hpp"
#include "tuner/devices/trial_runner.hpp"

namespace autotune {

// Belongs to one thread, as its TrialRunner does.
class DeviceExecutor {
 public:
  // Trials and finals that begin after a request to stop are empty.
  DeviceExecutor(const WorkerFactory& make_worker, std::chrono::milliseconds allowance,
                 std::stop_token stop);

  // The outcome of the job. Throws EnvironmentError as TrialRunner does.
  [[nodiscard]] Event run(const DeviceJob& job);
  [[nodiscard]] TrialRunner& runner() { return runner_; }

 private:
  [[nodiscard]] TrialDone make(const MeasureJob& job);
  [[nodiscard]] FinalsDone make(const FinalsJob& job);
  [[nodiscard]] RatesDone make(const CalibrateJob& job);

  TrialRunner runner_;
  std::stop_token stop_;
};

}  // namespace autotune
