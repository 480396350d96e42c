// A trial: one configuration that was tried on one problem, with its outcome.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autotune/configuration.hpp"

#include "core/problem.hpp"

namespace autotune {

// Stored by name (to_string), so the order may change; the names may not.
enum class TrialStatus {
  ok,
  rejected_spills,  // compiled, but spills registers: invalid by rule
  compile_failed,   // the compiler rejected the source; its log is in the detail
  compile_timeout,  // the compile worker was killed at its deadline
  compile_crashed,  // the compile worker died
  load_failed,      // the driver did not accept the cubin
  launch_failed,    // the launch was refused or the kernel faulted
  wrong_result,     // the numbers are wrong
  out_of_bounds,    // wrote into the guard zone around the output
  out_of_memory,    // the device could not hold the problem
  run_timeout,      // the measuring worker was killed at its deadline
  run_crashed,      // the measuring worker died
};

[[nodiscard]] std::string to_string(TrialStatus status);
// What happened to the configuration, for people: "did not compile".
[[nodiscard]] std::string in_words(TrialStatus status);
// Throws Error for an unknown name.
[[nodiscard]] TrialStatus trial_status_from_string(const std::string& text);

// Times of one kernel launch, each sample the mean over a batch of launches. Microseconds.
struct Measurement {
  std::vector<double> samples_us;
  double median_us = 0;  // of samples_us
  double spread_us = 0;  // median absolute deviation from the median
  int launches_per_sample = 0;
  bool screened_out = false;           // sampling stopped early: too far behind the best known
  int sm_clock_mhz = 0;                // after the last sample; 0 without NVML
  std::uint64_t throttle_reasons = 0;  // NVML's bits, or'ed over the samples

  bool operator==(const Measurement&) const = default;
};

// The errors of a result against the reference (see tuner/measure/verification.hpp).
struct Verification {
  bool integers_exact = false;  // small integers came out bit for bit
  double max_error_ratio = 0;   // max |error| / (unit roundoff * magnitude) over all elements
  double error_bound = 0;       // the largest max_error_ratio that is allowed
  double frobenius_error = 0;   // ||result - reference||_F / ||reference||_F

  // Returns whether the result was checked and has at most this relative Frobenius error.
  [[nodiscard]] bool keeps_to(double max_frobenius_error) const {
    return error_bound > 0 && frobenius_error <= max_frobenius_error;
  }

  bool operator==(const Verification&) const = default;
};

// The resources of a compiled configuration. -1 where they are unknown.
struct Resources {
  int registers = -1;              // per thread
  std::int64_t spill_bytes = -1;   // stores and loads, per thread
  std::int64_t stack_bytes = -1;   // per thread
  std::int64_t shared_bytes = -1;  // static, per block, without the hardware's share
  std::int64_t cubin_bytes = -1;
  double compile_ms = -1;

  bool operator==(const Resources&) const = default;
};

struct Trial {
  Problem problem;
  std::string template_name;
  Configuration configuration;
  TrialStatus status = TrialStatus::ok;
  std::string detail;  // one line: why it is not ok, or a note on how it was measured
  Measurement measurement;
  Verification verification;
  Resources resources;

  [[nodiscard]] bool ok() const { return status == TrialStatus::ok; }
};

}  // namespace autotune
