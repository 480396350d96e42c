// Tuned matrix multiplication inside an application.
//
//   autotune::Autotuner tuner;                                  // GPU 0, else the CPU device
//   const autotune::GemmProblem problem{.m = 512, .n = 512, .k = 512};
//   tuner.tune(problem, {.budget_seconds = 10});                // once; the result is kept on disk
//   tuner.gemm(problem, 1, a, 512, b, 512, 0, c, 512, stream);  // as often as you like
//
// The library and the program `autotune` share a database: each uses what the other has tuned on
// this machine.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "autotune/configuration.hpp"
#include "autotune/error.hpp"
#include "autotune/export.hpp"
#include "autotune/match_kind.hpp"
#include "autotune/problem.hpp"

struct CUstream_st;  // what cudaStream_t and CUstream point to

namespace autotune {

struct AutotunerOptions {
  // "0", "1", ...: a GPU as the driver counts them. "cpu": the CPU device, which runs kernels on
  // the CPU, slowly ("host" is understood too). "auto": GPU 0, on a machine without one the CPU
  // device.
  std::string device = "auto";
  // The tuning database, made by the first tune(). Empty: $AUTOTUNE_DB, else
  // $XDG_DATA_HOME/autotune/autotune.db, else ~/.local/share/autotune/autotune.db.
  std::string database = {};
  // False: the winners that ship with the library are left out of gemm()'s choice and of the
  // configurations that tune() tries first.
  bool use_shipped_winners = true;
};

// The configuration that gemm() takes for a problem, and why.
struct BestConfiguration {
  MatchKind match = MatchKind::predicted;
  std::string explanation;  // one line
  std::string template_name;
  Configuration configuration;
  GemmProblem tuned_for;            // another problem for nearest_size
  std::optional<double> median_us;  // of one launch, as measured for tuned_for; none if predicted
};

// The progress of a call of tune().
struct TuningProgress {
  std::int64_t done = 0;   // configurations, known ones included
  std::int64_t total = 0;  // to be tried
  double elapsed_s = 0;
  std::optional<double> remaining_s;  // an estimate
  std::optional<double> best_us;      // the fastest correct launch so far
};

struct TuningOptions {
  // It ends with whichever comes first. Neither: all configurations if they are up to 5,000, else,
  // and on the CPU device, 30 s.
  std::optional<double> budget_seconds = {};
  std::optional<std::int64_t> budget_trials = {};
  // "model", "evolutionary", "local", "random" or "exhaustive"; empty: exhaustive, or model in a
  // budget.
  std::string strategy = {};
  std::uint64_t seed = 1;
  bool fresh = false;  // measure again what is known
  // The program that compiles and runs candidates. Empty: this process. Else processes of this
  // file, the program `autotune` of the same version: one that faults or hangs is then no more than
  // a failed trial.
  std::string worker_program = {};
  std::function<void(const TuningProgress&)> progress = {};  // called by the thread of tune()
  std::stop_token stop = {};  // ends the search after the trial in flight; what it found is kept
};

struct TuningResult {
  std::optional<BestConfiguration> winner;       // empty: no configuration gave a correct result
  std::int64_t measured = 0;                     // trials made by this call
  std::int64_t known = 0;                        // trials taken from the database
  std::map<std::string, std::int64_t> statuses;  // of those measured: "ok", "compile_failed", ...
  bool complete = false;        // not stopped: the same call again measures nothing
  std::string storage_problem;  // why nothing was stored; empty when it was
};

// All functions may be called by several threads at once. Work that gemm() has enqueued, and graphs
// that have captured it, must be done with before the Autotuner is destroyed.
class AUTOTUNE_API Autotuner {
 public:
  // Looks for the device and does nothing to it. Throws EnvironmentError when it is not here,
  // UsageError for an invalid device option, StorageError when a database was named and what is
  // there cannot be read as one.
  explicit Autotuner(const AutotunerOptions& options = {});
  ~Autotuner();
  Autotuner(Autotuner&&) noexcept;
  Autotuner& operator=(Autotuner&&) noexcept;

  // The device's name as results are kept under: "NVIDIA H200", "cpu: <CPU model>".
  [[nodiscard]] const std::string& device_name() const;

  // Returns the configuration that gemm() would use now, for operands at multiples of 16 bytes with
  // leading dimensions that are multiples of 4. Reads the database; needs neither driver nor
  // compiler. Throws UsageError for a problem out of range, StorageError as the constructor does.
  [[nodiscard]] BestConfiguration best(const GemmProblem& problem) const;

  // Searches for the fastest configuration and stores what it measures. Calls of
  // one Autotuner wait for each other; work that others give the GPU meanwhile falsifies the times.
  // Memory on the device, in addition to the operands: their size again, 12 bytes an element of C,
  // and the workspace of kernels (below).
  // Not while a stream is captured in this process, which allocating memory would break.
  // A candidate that faults or hangs takes the process with it, as any kernel would: where that
  // must not be, name a worker_program, or tune with the program, which always isolates them.
  //
  // Throws UsageError for a problem or options out of range, EnvironmentError when there is no
  // compiler (NVRTC; for the CPU device a C++ compiler) or the problem does not fit the device,
  // StorageError as the constructor does. A default database that cannot be written to is no
  // error: see storage_problem; the results then live as long as the Autotuner.
  TuningResult tune(const GemmProblem& problem, const TuningOptions& options = {});

  // C = alpha * op(A) * op(B) + beta * C in FP32: op(A) m x k, op(B) k x n, C m x n, row-major.
  // lda, ldb, ldc: elements from one row in memory to the next, at least problem.lda() and so on.
  // C overlaps neither A nor B; beta = 0 does not read it. Returns the kind of the match.
  //
  // On a GPU the pointers are device addresses; the call enqueues one kernel on `stream`
  // (nullptr: the default stream) and returns. It works in the thread's current context, which must
  // belong to this device, or without one in the device's primary context; the current context and
  // device and the CUDA runtime's pending error stay as they are. On the CPU device the pointers
  // are to host memory, `stream` must be nullptr, and the call returns with the result.
  //
  // The first call for a problem in a context is cold: it reads the database and loads the kernel,
  // compiled if need be. So is the first on a stream when the kernel shares results between blocks:
  // it allocates memory, at most an eighth of the device's, which the stream keeps; where there is
  // none, another kernel is taken. Some kernels need operands at multiples of
  // 16 bytes with leading dimensions and rows that are multiples of 4: the first call with others
  // is cold too, and gets another kernel (prepare() makes all ready). Later ones look it up under a
  // shared lock and launch: no I/O, no allocation, no synchronisation, so they may be captured into
  // a graph, which must then not run at the same time as other calls on that stream. After tune()
  // calls are cold once more.
  //
  // Throws UsageError for a dimension below 1 or above 2147483647, a null pointer, a leading
  // dimension that is too small, a current context of another device, a stream where there are
  // none, a cold call on a stream that is being captured; EnvironmentError when the kernel is not
  // in the cubin store and there is no compiler; Error for what the driver reports.
  MatchKind gemm(const GemmProblem& problem, float alpha, const float* a, std::int64_t lda,
                 const float* b, std::int64_t ldb, float beta, float* c, std::int64_t ldc,
                 CUstream_st* stream = nullptr);

  // Does a cold call's work on that stream without the multiplication. Throws what gemm() throws.
  MatchKind prepare(const GemmProblem& problem, CUstream_st* stream = nullptr);

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace autotune
