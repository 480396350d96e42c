// A request to the tuner.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernel_templates/kernel_template.hpp"
#include "tuner/space_filter.hpp"

namespace autotune {

// The limits of a request. Whichever ends first, for the whole request, compiling and finals
// included.
struct Budget {
  std::optional<double> seconds;
  std::optional<std::int64_t> trials;

  [[nodiscard]] bool unlimited() const { return !seconds && !trials; }
};

struct TuneRequest {
  std::vector<Problem> problems;
  // Each is searched for every problem that it supports. None: all of the registry that run on
  // the device.
  std::vector<const KernelTemplate*> templates;
  SpaceFilter filter;
  // Unlimited: exhaustive up to 5,000 trials over all problems; more, or on the CPU device, 30 s.
  Budget budget;
  // From when on the budget's time counts. Empty: from the call.
  std::optional<std::chrono::steady_clock::time_point> began;
  // A problem's search ends once its best has reached this share of the best of the space.
  std::optional<double> until;
  // A name of strategy_names(); empty: exhaustive, or model in a budget or until a share is
  // reached.
  std::string strategy;
  std::uint64_t seed = 1;
  bool fresh = false;               // measure again what is known
  bool use_shipped_winners = true;  // as warm starts
  std::string baseline;             // is timed among the finalists: "cublas"; empty: none
  std::string command;              // for provenance
};

}  // namespace autotune
