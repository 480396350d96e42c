// The tuning loop: proposes configurations, has them compiled, verified and timed by workers,
// stores what becomes of them, and times the best again in interleaved finals.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "core/device_info.hpp"
#include "core/winner.hpp"
#include "db/cubin_store.hpp"
#include "db/tuning_database.hpp"
#include "kernel_templates/kernel_template.hpp"
#include "tuner/worker.hpp"

namespace autotune {

// The part of a template's space that is searched. Empty: all of it.
struct SpaceFilter {
  // "16", "32": allowed tile widths. "4" allows every product 4; "2x2" one shape.
  std::vector<std::int64_t> tile_widths;
  std::vector<std::int64_t> results_per_thread;
  std::vector<std::pair<std::int64_t, std::int64_t>> result_shapes;
  std::vector<std::int64_t> unrolls;  // kFullUnroll: the trip count
  static constexpr std::int64_t kFullUnroll = -1;
  // Allowed values of a template's own parameters. A template without one of them is left out.
  std::map<std::string, std::vector<std::int64_t>> only;
  // The 1st of 4 parts and the like, the same on every machine, which together are the space.
  std::int64_t shard = 1;
  std::int64_t shards = 1;

  [[nodiscard]] bool empty() const;
  // As a constraint named "filter".
  [[nodiscard]] Constraint constraint(const KernelTemplate& kernel) const;
  // Canonical text, part of a request's key.
  [[nodiscard]] std::string text() const;
};

// When to stop. Whichever ends first, for the whole request, compiling and finals included.
struct Budget {
  std::optional<double> seconds;
  std::optional<std::int64_t> trials;

  [[nodiscard]] bool unlimited() const { return !seconds && !trials; }
};

struct TuneRequest {
  std::vector<GemmProblem> problems;
  // Each is searched for every problem that it supports. None: those of templates_for().
  std::vector<const KernelTemplate*> templates;
  SpaceFilter filter;
  // Unlimited: exhaustive up to 5,000 trials over all problems; more, or on the host device, 30 s.
  Budget budget;
  // From when on the budget's time counts. Empty: from the call.
  std::optional<std::chrono::steady_clock::time_point> began;
  // A problem's search ends once its best has reached this share of the best of the space.
  std::optional<double> until;
  // A name of strategy_names(); empty: exhaustive, or model in a budget or until a share is
  // reached.
  std::string strategy;
  std::uint64_t seed = 1;
  bool fresh = false;           // measure again what is known
  bool compare_cublas = false;  // time cuBLAS among the finalists
  std::string command;          // for provenance
};

// A device that kernels are measured on.
struct MeasuringDevice {
  DeviceInfo info;
  WorkerFactory make_worker;
  // Called before the device is used, in the thread that will use it. May wait for others who use
  // it, until asked to stop. What it gives is kept as long as the device is needed. May be empty.
  std::function<std::shared_ptr<void>(const std::stop_token&)> reserve;
};

// Where the tuner gets what it needs. All references outlive the call to tune().
struct TunerSetup {
  DeviceInfo device;  // what is tuned for
  WorkerFactory make_compile_worker;
  std::vector<MeasuringDevice> measuring;  // at least one, all of the silicon class of `device`
  int compile_jobs = 1;
  bool overlap = true;  // compile ahead of measuring; else strictly in turn
  std::chrono::milliseconds compile_timeout{30'000};
  std::chrono::milliseconds measure_timeout{30'000};  // beside the time the work itself should take
  // For a trial that another run on the same database has claimed, when nothing else is left to do.
  std::chrono::milliseconds other_runs_timeout{60'000};
  TuningDatabase* database = nullptr;
  CubinStore* cubins = nullptr;
};

// What became of one problem.
struct ProblemResult {
  GemmProblem problem;
  std::optional<Winner> winner;  // empty: no configuration is correct
  std::string too_large;         // why, where no trial found memory for the problem
  std::int64_t measured = 0;     // trials made in this call
  std::int64_t known = 0;        // trials taken from the database
  std::int64_t valid_configurations = 0;
  // Of the best rate of the space, by estimate, at least (tuner/regret.hpp). 0: it cannot be told,
  // or nothing was measured.
  double reached_share = 0;
  std::optional<double> cublas_us;  // median in the same finals
};

// What a device did in a call.
struct DeviceUse {
  DeviceInfo device;
  double busy_s = 0;  // its measuring worker was at a job; in a report: during the search
  int workers_replaced = 0;
  std::int64_t equal_kernels = 0;
  std::string failure;  // why the others had to do without it; empty when it was in order
};

struct TuneReport {
  std::vector<ProblemResult> problems;
  std::map<TrialStatus, std::int64_t> statuses;  // of the trials measured in this call
  std::int64_t measured = 0;
  std::int64_t known = 0;
  std::int64_t compiled = 0;
  std::int64_t cubins_reused = 0;  // from the store
  std::int64_t equal_kernels = 0;  // not measured: the machine code of another configuration
  std::int64_t workers_replaced = 0;
  double wall_s = 0;
  double search_s = 0;             // wall time of the search, without start-up and finals
  std::vector<DeviceUse> devices;  // those that were used; empty when nothing had to be measured
  double compile_busy_s = 0;       // during the search, summed over the compile workers
  bool interrupted = false;
  bool complete = false;  // the space was exhausted or the budget used up
  std::optional<DeviceRates> rates;
  std::string storage_problem;  // why results could not be stored; empty when they were
  std::string note;             // e.g. on what was timed again after a change of driver
};

// What a progress display needs to know. Calls come from the thread that runs tune().
struct TuneProgress {
  std::int64_t done = 0;   // trials, known ones included
  std::int64_t total = 0;  // of the space over all problems
  double elapsed_s = 0;
  std::optional<double> remaining_s;
  const Trial* last = nullptr;                          // the trial just finished, if any
  const DeviceUse* failed = nullptr;                    // the device that has just failed, if any
  const char* phase = "search";                         // "search", "finals"
  std::vector<std::pair<GemmProblem, double>> best_us;  // of the problems with a correct trial
};
using ProgressCallback = std::function<void(const TuneProgress&)>;

// What --dry-run shows: the space that a request would search on a device.
struct SpaceSummary {
  const KernelTemplate* kernel = nullptr;
  Enumeration enumeration;
};
[[nodiscard]] std::vector<SpaceSummary> summarize_space(const TuneRequest& request,
                                                        const DeviceInfo& device);

// Tunes. Throws UsageError for an empty space, EnvironmentError when no worker can compile, the
// device cannot be opened or no problem fits its memory. A stop request ends the search after the
// trial in flight; what was measured is stored and the best so far is the answer.
[[nodiscard]] TuneReport tune(const TuneRequest& request, TunerSetup& setup,
                              const ProgressCallback& progress, std::stop_token stop);

}  // namespace autotune
