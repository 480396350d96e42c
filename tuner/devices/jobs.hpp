// The jobs of measuring devices and their outcomes, as values.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/trial.hpp"
#include "tuner/compile/compile_pool.hpp"
#include "tuner/compile/kernel_builder.hpp"
#include "tuner/devices/finals.hpp"
#include "tuner/devices/measuring_device.hpp"

namespace autotune {

// The best time of a search task so far. Thread-safe.
class BestTime {
 public:
  // Infinite without a correct trial.
  [[nodiscard]] double us() const { return us_; }
  void lower(double us) {
    double seen = us_;
    while (us < seen && !us_.compare_exchange_weak(seen, us)) {
    }
  }

 private:
  std::atomic<double> us_ = std::numeric_limits<double>::infinity();
};

// The numbers of a search task and of a configuration in its space.
struct TrialId {
  std::size_t task = 0;
  std::size_t configuration = 0;
};

// A trial to be made. The kernel template, the built kernel and the best time outlive the job.
struct MeasureJob {
  TrialId id;
  Problem problem;
  const KernelTemplate* kernel = nullptr;
  Configuration configuration;
  const BuiltKernel* built = nullptr;
  // A search screens the trial against this time, and does not measure the same machine code twice.
  // If it is null, the trial is measured in full.
  BestTime* best = nullptr;
  std::optional<std::chrono::steady_clock::time_point> deadline;  // the latest beginning
  std::optional<std::chrono::steady_clock::time_point> end;       // the latest end
};

// The finals of one problem, or of several that answer one (TuneRequest::alternatives).
struct FinalsJob {
  // The finals should take this share of the time from the job's beginning to `end`, and are given
  // up at the time `latest`.
  struct TimeShare {
    std::chrono::steady_clock::time_point end;
    double share = 1;
    std::chrono::steady_clock::time_point latest;
  };
  std::size_t id = 0;
  Problem problem;  // as the baseline computes it
  std::vector<Finalist> finalists;
  std::string baseline;  // timed in the same rounds; empty: none
  std::optional<TimeShare> time;
};

// A measurement of the device's rates.
struct CalibrateJob {};

using DeviceJob = std::variant<MeasureJob, FinalsJob, CalibrateJob>;

struct TrialDone {
  TrialId id;
  std::optional<Trial> trial;  // empty after the job's deadline or end, or a request to stop
};

struct FinalsDone {
  std::size_t id = 0;
  FinalsResult result;
};

struct RatesDone {
  CalibrateReply rates;
};

struct DeviceFailed {
  DeviceUse device;
  std::exception_ptr error;  // set when no other device is left
};

// Everything that a tuning run waits for.
using Event = std::variant<KernelBuilt, TrialDone, FinalsDone, RatesDone, DeviceFailed>;

}  // namespace autotune
