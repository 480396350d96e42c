// A request to the tuner.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/winner.hpp"
#include "kernel_templates/kernel_template.hpp"
#include "tuner/run/space_filter.hpp"

namespace autotune {

// The limits of a request, of which the first to be reached counts. They hold for the whole
// request, compiling and finals included. Where devices are shared (MeasuringDevice::share),
// seconds are those of the devices' time that the request may take: all of its time is longer.
struct Budget {
  std::optional<double> seconds;
  std::optional<std::int64_t> trials;

  [[nodiscard]] bool unlimited() const { return !seconds && !trials; }
};

struct TuneRequest {
  std::vector<Problem> problems;
  // The problems whose kernels may answer one of these, in place of that one alone: with the same
  // tensors, work and reference, the one of the most exact arithmetic first. A template that
  // computes the first is searched for that one, any other for all that it computes. The fastest
  // configuration of all is the answer; results are stored for the problem that was searched.
  std::map<Problem, std::vector<Problem>> alternatives;
  // Each template is searched for every problem that it supports. If there are none, these are all
  // templates of the set that run on the device.
  std::vector<const KernelTemplate*> templates;
  SpaceFilter filter;
  // If it is unlimited, up to 5,000 trials over all problems are made exhaustively. A larger space,
  // or one on the CPU device, is searched for 30 s, or until 98 % are reached.
  Budget budget;
  // The time from which the budget counts. Empty: that of the call.
  std::optional<std::chrono::steady_clock::time_point> began;
  // A problem's search ends once its best has reached this share of the best of the space.
  std::optional<double> until;
  // Only configurations with at most this relative Frobenius error on the verification data may
  // win.
  std::optional<double> max_error;
  // A name of strategy_names(). Empty: "model" if there is a budget or `until`, else "exhaustive".
  std::string strategy;
  std::uint64_t seed = 1;
  bool fresh = false;               // measure known trials again
  bool use_shipped_winners = true;  // as warm starts
  // The kernels that run on this device now are tried first, and are in the finals with the best.
  std::vector<Winner> begin_with;
  std::string baseline;  // timed among the finalists: "cublas"; empty: none
  std::string command;   // recorded as the provenance of the results
};

}  // namespace autotune
