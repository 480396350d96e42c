// What tune() is told, and what it says of its search.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace autotune {

// The progress of a call of tune().
struct TuningProgress {
  std::int64_t done = 0;   // trials, known ones included
  std::int64_t total = 0;  // to be tried, over all problems
  double elapsed_s = 0;
  std::optional<double> remaining_s;  // an estimate
  std::optional<double> best_us;      // the fastest correct launch so far, of the first problem
};

struct TuningOptions {
  // For all problems together; it ends with whichever comes first. Neither: all configurations if
  // they are up to 5,000, else, and on the CPU device, 30 s; a problem's search then ends once its
  // best is estimated to have reached 98 % of what can be.
  std::optional<double> budget_seconds = {};
  std::optional<std::int64_t> budget_trials = {};
  // "model", "evolutionary", "local", "random" or "exhaustive"; empty: exhaustive, or model in a
  // budget.
  std::string strategy = {};
  // A winner has at most this relative error, ||result - exact||_F / ||exact||_F on uniform data in
  // (-1, 1): above 0, below 1. Candidates are the kernels of a problem's math and of the stricter
  // ones: with Math::tf32 all. The limit is of this search: gemm() does not know it. TuningResult
  // says which winner keeps to it, and for which math it was measured and stored (tuned_for).
  std::optional<double> max_error = {};
  std::uint64_t seed = 1;
  bool fresh = false;  // measure again what is known
  // Called by the thread of tune(). Returns whether to go on: false ends the search after the trial
  // in flight, and what it found is kept. An exception ends it too, and comes out of tune().
  std::function<bool(const TuningProgress&)> progress = {};
};

// What a search did, whatever it found.
struct SearchSummary {
  std::int64_t measured = 0;                     // trials made by this call
  std::int64_t known = 0;                        // trials taken from the database
  std::map<std::string, std::int64_t> statuses;  // of those measured: "ok", "compile_failed", ...
  bool complete = false;        // not stopped: the same call again measures nothing
  std::string storage_problem;  // why nothing was stored; empty when it was
};

}  // namespace autotune
