// The reports of a tuning run, while it runs and at its end.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/winner.hpp"
#include "tuner/devices/measuring_device.hpp"

namespace autotune {

// The result for one problem.
struct ProblemResult {
  Problem problem;
  std::optional<Winner> winner;  // empty: no configuration is correct
  // The least error of any correct trial, where none kept to TuneRequest::max_error.
  std::optional<double> least_error;
  std::string too_large;      // the reason, if no trial found memory for the problem
  std::int64_t measured = 0;  // trials made in this call
  std::int64_t known = 0;     // trials taken from the database
  std::int64_t valid_configurations = 0;
  // The share of the space's best rate that was reached at least (tuner/search/convergence.hpp). 0:
  // nothing can be said, or nothing was measured.
  double reached_share = 0;
  std::set<std::string> began_with;      // labels of other devices whose winners were tried first
  std::optional<BaselineTime> baseline;  // in the same finals
  std::string baseline_problem;  // why one that was asked for has no time, or is in part wrong

  [[nodiscard]] std::int64_t tried() const { return measured + known; }
};

// The reason why a problem has no winner, in words; empty where it has one.
[[nodiscard]] std::string why_no_winner(const ProblemResult& result);

// The first configuration that a fault was found in, and what is known of the fault.
struct FirstFault {
  Configuration configuration;
  std::string detail;
};

struct TuneReport {
  std::vector<ProblemResult> problems;
  std::map<TrialStatus, std::int64_t> statuses;    // of the trials measured in this call
  std::map<TrialStatus, FirstFault> first_faults;  // of those that are not ok
  std::int64_t measured = 0;
  std::int64_t known = 0;
  std::int64_t compiled = 0;
  std::int64_t cubins_reused = 0;      // taken from the cubin store
  std::int64_t duplicate_kernels = 0;  // not measured: the machine code of another configuration
  std::int64_t workers_replaced = 0;
  double wall_s = 0;
  double search_s = 0;             // wall time of the search, without start-up and finals
  std::vector<DeviceUse> devices;  // those that were used; empty when nothing had to be measured
  double compile_busy_s = 0;       // during the search, summed over the compile workers
  int compile_workers = 0;         // those that had something to do
  bool interrupted = false;
  // Why the run ended early, with the results so far: no kernel can be compiled, or the last device
  // has failed. Otherwise empty.
  std::string failure;
  bool complete = false;  // the space was exhausted or the budget used up
  std::optional<DeviceRates> rates;
  double storing_s = 0;         // for which the run's end waited for the database
  std::string storage_problem;  // why results could not be stored; empty when they were
  std::string note;             // such as that trials were timed again after a change of driver
};

// The input of a progress display. Calls come from the thread that runs tune().
struct TuneProgress {
  std::int64_t done = 0;      // trials, known ones included
  std::int64_t total = 0;     // of the space over all problems
  std::int64_t failures = 0;  // of the trials made in this call
  double elapsed_s = 0;
  std::optional<double> remaining_s;
  const Trial* last = nullptr;        // the trial just finished, if any
  const DeviceUse* failed = nullptr;  // the device that has just failed, if any
  const char* phase = "search";       // "search", "finals", "waiting for ..."
  struct Best {
    Problem problem;
    double us = 0;
    double gflops = 0;
  };
  std::vector<Best> best;  // of each task with a correct trial
};
using ProgressCallback = std::function<void(const TuneProgress&)>;

}  // namespace autotune
