// The measuring worker of one device, which does the device's jobs.
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>

#include "tuner/devices/jobs.hpp"
#include "tuner/devices/trial_runner.hpp"

namespace autotune {

// Belongs to one thread, as its TrialRunner does.
class DeviceExecutor {
 public:
  // A trial or finals that would begin after a request to stop have an empty outcome; on a shared
  // device also those that the request ends.
  DeviceExecutor(const MeasuringDevice& device, std::chrono::milliseconds allowance,
                 std::stop_token stop);

  // Does the job and returns its outcome. Throws EnvironmentError as TrialRunner does.
  [[nodiscard]] Event run(const DeviceJob& job);
  [[nodiscard]] TrialRunner& runner() { return runner_; }

 private:
  [[nodiscard]] TrialDone make(const MeasureJob& job);
  [[nodiscard]] FinalsDone make(const FinalsJob& job);
  [[nodiscard]] RatesDone make(const CalibrateJob& job);

  TrialRunner runner_;
  std::stop_token stop_;
  bool is_shared_;
  std::stop_callback<std::function<void()>> giving_up_;
};

}  // namespace autotune
