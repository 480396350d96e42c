// The environment of the tuner: devices, workers and databases.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "db/cubin_store.hpp"
#include "db/tuning_database.hpp"
#include "kernel_templates/kernel_set.hpp"
#include "tuner/devices/measuring_device.hpp"
#include "tuner/search/convergence.hpp"

namespace autotune {

// A configuration that is expected to be fast.
struct Suggestion {
  const KernelTemplate* kernel = nullptr;
  Configuration configuration;
};

// What is known of a problem before its search.
struct Expectation {
  std::vector<Suggestion> suggestions;  // what the search begins with, the fastest first
  double patience = kRecordedPatience;  // of Convergence, if the first of them is searched
};

// The means of one call to tune(). All references outlive the call.
struct TunerSetup {
  const KernelSet& kernels;
  DeviceInfo device;  // the device that is tuned for
  WorkerFactory make_compile_worker;
  std::vector<MeasuringDevice> measuring;  // at least one, all of the device class of `device`
  int compile_jobs = 1;
  bool overlap = true;  // compile ahead of measuring; false: compile and measure in turn
  std::chrono::milliseconds compile_timeout{30'000};
  std::chrono::milliseconds measure_timeout{30'000};  // in addition to the time of the work
  // The longest wait for a trial that another run on the same database has claimed, when nothing
  // else is left to do.
  std::chrono::milliseconds other_runs_timeout{60'000};
  TuningDatabase* database = nullptr;
  CubinStore* cubins = nullptr;
  // Returns what is known of a problem before its search. `use_shipped` is
  // TuneRequest::use_shipped_winners. May be empty.
  std::function<Expectation(const Problem&, bool use_shipped)> expect;
};

}  // namespace autotune
