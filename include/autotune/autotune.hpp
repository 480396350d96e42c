// Tuned matrix multiplication inside an application, for C++17 and later.
//
//   autotune::Library library;                             // for the thread's current GPU
//   const autotune::GemmProblem problem{512, 512, 512};    // m, n, k
//   library.tune({problem});                               // once; kept on disk
//   library.gemm(problem, 1, {a, 512}, {b, 512}, 0, {c, 512}, stream);  // as often as you like
//
// The library and the program `autotune` share a database: each uses what the other has tuned on
// this machine. autotune/autotune.h is the same for C.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "autotune/allocator.hpp"
#include "autotune/baseline_time.hpp"
#include "autotune/configuration.hpp"
#include "autotune/error.hpp"
#include "autotune/export.hpp"
#include "autotune/gemm_arguments.hpp"
#include "autotune/kernel.hpp"
#include "autotune/match_kind.hpp"
#include "autotune/problem.hpp"
#include "autotune/tuning.hpp"
#include "autotune/version.hpp"

namespace autotune {

class Core;          // the inside of a Library
struct PlannedGemm;  // the inside of a Plan

// What calls work on.
class Device {
 public:
  // The GPU of the calling thread's current CUDA context; in a thread without one GPU 0. On a
  // machine without a GPU, the CPU device.
  static constexpr Device current() { return Device(-1); }
  // The CPU device: it runs kernels on the processor, slowly, and its times say nothing about a
  // GPU.
  static constexpr Device cpu() { return Device(-2); }
  // A GPU as the driver counts them, from 0. With a number below 0 a Library is a UsageError.
  static constexpr Device gpu(int ordinal) { return Device(ordinal < 0 ? -3 : ordinal); }

  // A GPU's ordinal; -1 for current(), -2 for cpu(), -3 for a GPU below 0.
  [[nodiscard]] constexpr int number() const { return number_; }

 private:
  explicit constexpr Device(int number) : number_(number) {}
  int number_;
};

// What happens when a product is asked for that was not tuned on this kind of device.
enum class MissPolicy : std::uint8_t {
  predict = 0,  // the best predicted time, by what is stored and what ships
  tune = 1,     // it is tuned first, in the calling thread, for miss_budget_seconds
  refuse = 2,   // NotTunedError; neither is a kernel ever compiled
  // As predict. Meanwhile the product is tuned in processes of worker_program, in the order of
  // first calls; the kernel that wins takes its place in later calls, none of which waits for it.
  // Contexts that the application made itself (cuCtxCreate) keep their kernels, as plans do. A
  // stale winner is timed once, and tuned only if it is slower than it was. Without
  // worker_program, and with a bundle, it is a UsageError. It needs device memory as tune() does.
  background = 3,
};

enum class LogLevel : std::uint8_t {
  info = 0,     // a kernel was chosen or compiled
  warning = 1,  // something is less than it could be: results are not stored, memory is short
};

struct LibraryOptions {
  Device device = Device::current();
  // The tuning database, made by the first tune(). Empty: $AUTOTUNE_DB, whose folder must exist,
  // else $XDG_DATA_HOME/autotune/autotune.db, else ~/.local/share/autotune/autotune.db. A relative
  // path is one of the folder that is current when the Library is made.
  std::string database = {};
  // False: the winners that ship with the library are left out of the choice of kernels and of the
  // configurations that tune() tries first.
  bool use_shipped_winners = true;
  MissPolicy miss = MissPolicy::predict;
  // Of MissPolicy::tune and background for each product, above 0. In the background they are
  // seconds of the device's time: 10 s at a share of 0.05 take 200 s.
  double miss_budget_seconds = 10;
  // The largest part of the device's time that MissPolicy::background takes, in any second: above
  // 0, at most 1. Measurements of a product that takes longer than that part of a second take a
  // launch at a time.
  double background_share = 0.05;
  // The program that compiles and runs candidates of tune(). Empty: this process. Else processes
  // of this file, the program `autotune` of the same version: a candidate that faults or hangs is
  // then no more than a failed trial.
  std::string worker_program = {};
  // Gets one line at a time, without a line feed, from whichever thread is at work. It calls
  // nothing of this library. What it throws is caught and dropped.
  std::function<void(LogLevel, const std::string& line)> log = {};
  // A file of `autotune export --bundle`. All kernels then come from it: no compiler, database,
  // cubin store or home directory is looked for, and tune() is a UsageError. It is read once, by
  // the constructor, which throws StorageError for what is not whole, and EnvironmentError, with
  // both names, where it is for another device than the one here. gemm(), prepare() and plan()
  // throw StorageError for a kernel whose bytes are not those that were written, EnvironmentError
  // for a problem that no kernel of it computes. Not together with `database` or MissPolicy::tune.
  std::string bundle = {};
  // The most memory that gemm() keeps for each stream, what it had before it grew included. Empty:
  // any; a kernel needs an eighth of the device's at most. One that needs more than is left is
  // passed over for one that needs none, as it is where memory runs out.
  std::optional<std::size_t> max_workspace_bytes = {};
  // Where the memory that gemm() keeps for streams and that of prepared operands come from; empty:
  // the driver's (cuMemAlloc). tune() does not use it, nor does the CPU device. The memory goes
  // back as it would to the driver; what is left at the Library's end in contexts that the
  // application made itself does not: call trim() in them before.
  Allocator allocator = {};
};

// The result of Library::try_gemm().
enum class Outcome : std::uint8_t {
  done = 0,       // as gemm() does it
  not_ready = 1,  // a cold gemm(), or prepare() on this stream, has to come first
  // The arguments are wrong, gemm() has refused the product of late, or the device reports a fault:
  // gemm() says which.
  refused = 2,
};

// The configuration that a product runs with, and why.
struct BestConfiguration {
  MatchKind match = MatchKind::predicted;
  std::string explanation;  // one line
  std::string template_name;
  Configuration configuration;
  GemmProblem tuned_for;            // row-major; another problem for nearest_size
  std::optional<double> median_us;  // of one launch, as measured for tuned_for; none if predicted
  // What cuBLAS took for tuned_for beside this kernel (tune --compare, bench --against cublas).
  std::optional<BaselineTime> baseline;
};

struct QueryOptions {
  // As TuningOptions::max_error: asks for the fastest result that is stored or ships for this very
  // problem, in its math or a stricter one, and keeps to the limit.
  std::optional<double> max_error = {};
};

struct TunedProblem {
  GemmProblem problem;  // as it was given
  std::optional<BestConfiguration> winner;
  std::string problem_without_winner;  // why there is none; empty when there is one
};

struct TuningResult : SearchSummary {
  std::vector<TunedProblem> problems;  // in the order of the call
};

// A product whose kernel is chosen and loaded. Immutable: tune() changes no plan that was made
// before. A value that is cheap to copy and that any thread may use, several at once. It belongs to
// the device and the CUDA context that were current when it was made, and keeps its kernel loaded
// and its Library's inside alive.
class AUTOTUNE_API Plan {
 public:
  // An empty plan, which can only be assigned to.
  Plan() = default;

  [[nodiscard]] MatchKind match() const;
  // The kernel template's name; empty when there is nothing to multiply (m, n, k or batch is 0).
  [[nodiscard]] const std::string& kernel() const;
  [[nodiscard]] const Configuration& configuration() const;
  // Why this kernel, in one line.
  [[nodiscard]] const std::string& explanation() const;
  // All of this, and what it was tuned for.
  [[nodiscard]] const BestConfiguration& choice() const;
  // Bytes that a call needs of a Workspace. 0 for most kernels.
  [[nodiscard]] std::size_t workspace_bytes() const;

  // Computes as Library::gemm() does, and throws what it throws for wrong arguments; also
  // UsageError where the operands lack the alignment or the factors the place that the plan was
  // made for, where the workspace is smaller than workspace_bytes(), and in another CUDA context;
  // EnvironmentError for alpha = 0 with a beta other than 0 and 1, where plan() found no compiler
  // for the kernel that scales C. It neither locks, allocates, compiles nor reads files, so it may
  // be captured into a graph; on the CPU device it locks and allocates.
  void operator()(const GemmArguments& arguments) const;
  void operator()(float alpha, Matrix a, Matrix b, float beta, MutableMatrix c,
                  Stream stream = nullptr, Workspace workspace = {}) const {
    (*this)({alpha, a, b, beta, c, stream, workspace});
  }

 private:
  friend class Library;
  Plan(std::shared_ptr<const PlannedGemm> planned, const GemmProblem& problem, PointerMode scalars);
  [[nodiscard]] const PlannedGemm& planned() const;

  std::shared_ptr<const PlannedGemm> planned_;
  GemmProblem problem_;
  PointerMode scalars_ = PointerMode::host;
};

// Chooses, compiles, loads and runs kernels, and tunes them. All functions may be called by several
// threads at once. Work that gemm() has enqueued, and graphs that have captured it, must be done
// with before the Library and its plans are destroyed. A moved-from Library can only be destroyed
// or assigned to. A process that was forked cannot use a Library that was made before: its
// functions throw UsageError there, and its destructor does nothing.
class AUTOTUNE_API Library {
 public:
  // Looks for the device and does nothing to it. Throws EnvironmentError when it is not here,
  // UsageError for invalid options, StorageError when a database was named and what is there cannot
  // be read as one. A database that another process has locked does not throw: see gemm().
  explicit Library(const LibraryOptions& options = {});
  ~Library();
  Library(Library&&) noexcept;
  Library& operator=(Library&&) noexcept;

  // The name that results of the device are kept under: "NVIDIA H200", "cpu: <CPU model>".
  [[nodiscard]] std::string device_name() const;

  // C = alpha * op(A) * op(B) + beta * C: op(A) m x k, op(B) k x n, C m x n; for each of
  // problem.batch products, in one launch; or D, if there is one (GemmArguments::d), in place of
  // the C on the left. Returns the kind of the match. The matrices have the types of problem.types,
  // and D that of C.
  //
  // As BLAS has it: C overlaps neither A nor B. With beta = 0 C is not read, with alpha = 0 or
  // k = 0 neither A nor B is, and with m = 0, n = 0 or batch = 0 nothing is done; matrices that are
  // not used may be null. Factors of 0 in the device's memory give the same results, but A and B
  // may be read, and C copied to D, before they are: those may not be null.
  //
  // On a GPU the call enqueues its work on `stream` and returns. It works in the thread's current
  // context, or without one in the primary context of the device; the current context and device
  // and the CUDA runtime's pending error stay as they are. On the CPU device the pointers are to
  // host memory, `stream` must be nullptr, and the call returns with the result.
  //
  // The first call for a problem in a context is cold: it reads the database and loads the kernel,
  // compiled if need be, and waits for other calls where they read the database or load the same
  // kernel. A file that another process has locked is waited for for less than 0.1 s; then, with a
  // warning in the log, what is known of it counts, and what ships. A product that ends in a
  // NotTunedError, or twice in the same EnvironmentError or StorageError, ends in it again, within
  // microseconds, until a second has passed or tune() was called. A kernel that it compiles is kept
  // in the user's cache folder, $XDG_CACHE_HOME/autotune or ~/.cache/autotune, if that can be
  // written. Some kernels need operands as Alignment::of_16_bytes has them: the first call with
  // others is cold too, and gets another kernel. Later calls find the kernel and launch it: no I/O,
  // no allocation, no lock, no synchronisation, so they may be captured into a graph. A lock is
  // held for a moment by those that only multiply C by beta, by captured ones that need memory, and
  // in threads that take turns on more than 8 streams. After tune() calls are cold once more.
  //
  // A kernel that shares results between blocks needs memory, and so do those of emulated and TF32
  // products that split A and B first: about as much as A and B themselves have. The first such
  // call on a stream allocates it, at most an eighth of the device's and max_workspace_bytes; where
  // there is none, another kernel is taken. It belongs to the stream until release() or the end of
  // the Library, on cudaStreamPerThread until the thread ends. Graphs that were captured on the
  // stream use it too, and must not run at the same time as other work of this Library on that
  // stream. A call with a workspace of its own uses that instead and allocates nothing: where it is
  // too small, another kernel is taken, which needs none. Plans only take memory of the caller's.
  //
  // Throws UsageError for a size below 0 or above 2147483647, an unknown enumerator, types that no
  // kernel computes, a matrix of another type than the problem's, a null or misaligned pointer, an
  // ld that is too small, one of alpha_ptr and beta_ptr without the other, a stride below 0, an ld
  // or a stride that spreads the matrices over more than 2^59 elements, matrices of the result that
  // overlap each other or share an element with A, B, a C beside it or a factor (a batch is also
  // refused where its strides are so unlike that this would take long to rule out), a current
  // context of another device than the options name, a stream where there are none, a cold call on
  // a stream that is being captured; NotTunedError as the options have it; EnvironmentError when
  // the kernel must be compiled and there is no compiler; StorageError when a database that was
  // named can no longer be read as one; Error, with the driver's code, for what the driver reports.
  MatchKind gemm(const GemmProblem& problem, const GemmArguments& arguments);
  MatchKind gemm(const GemmProblem& problem, float alpha, Matrix a, Matrix b, float beta,
                 MutableMatrix c, Stream stream = nullptr) {
    return gemm(problem, {alpha, a, b, beta, c, stream, {}});
  }

  // Multiplies as gemm() does where that needs nothing that is not here. It never compiles,
  // allocates, reads or writes files, throws, or waits for a call that does; on the CPU device it
  // locks and allocates.
  Outcome try_gemm(const GemmProblem& problem, const GemmArguments& arguments) noexcept;

  // Does a cold gemm()'s work on that stream, for operands of any alignment, without the product.
  // Throws what gemm() throws.
  MatchKind prepare(const GemmProblem& problem, Stream stream = nullptr);

  // Prepares an operand that does not change, on a stream, for the kernel that the problem has now:
  // products of any shape that get the same kernel and this matrix as A or B, in the same context
  // and behind this work, need not prepare it again (Matrix::prepared). Their results are the same
  // bit for bit. It is a cold call, and allocates memory; where the kernel prepares nothing, as
  // strict ones and those of the CPU device, it does nothing. Throws what gemm() throws, UsageError
  // for a batch and for an unknown operand, and Error where there is no memory. gemm() and plans
  // throw UsageError for a Matrix::prepared of another matrix: of another address, ld, shape or
  // side along K.
  [[nodiscard]] PreparedMatrix prepare_operand(const GemmProblem& problem, Operand which,
                                               Matrix matrix, Stream stream = nullptr);

  // Chooses and loads a kernel in the current context, as a cold gemm() does, for calls with alpha
  // and beta as `scalars` has it. Throws what it throws.
  [[nodiscard]] Plan plan(const GemmProblem& problem, Alignment alignment = Alignment::any,
                          PointerMode scalars = PointerMode::host);

  // Frees the memory that gemm() allocated for a stream in the current context. To be called before
  // the stream is destroyed, when its work and its graphs are done with. On the CPU device it does
  // nothing.
  void release(Stream stream);

  // Frees what gemm() allocated for streams in the current context, whatever streams, that of the
  // stream with the most first, until no more than keep_bytes are left. Work of this Library on all
  // streams of the context, and graphs that captured it, must be done with, and no other thread
  // multiplies there meanwhile. Later calls allocate anew: captures need prepare() before. On the
  // CPU device it does nothing.
  void trim(std::size_t keep_bytes = 0);

  // Returns the configuration that MissPolicy::predict would take now, for aligned operands, or
  // with a limit of the error what QueryOptions says. Reads the database; needs neither driver nor
  // compiler. Throws UsageError for a problem or a limit out of range or with nothing to multiply,
  // NotTunedError where nothing that keeps to the limit is known, StorageError as the constructor
  // does.
  [[nodiscard]] BestConfiguration query(const GemmProblem& problem,
                                        const QueryOptions& options = {}) const;

  // Searches for the fastest configurations of all problems, as one search with one budget, and
  // stores what it measures. Calls of one Library wait for each other, and the callback of one must
  // not make another; work that others give the device meanwhile falsifies the times. Memory on the
  // device, in addition to the operands: their size again, 12 bytes an element of C, and the
  // workspace of kernels. Not while a stream is captured in this process, which allocating memory
  // would break. Without a worker_program a candidate that faults or hangs takes the process with
  // it, as any kernel would.
  //
  // Throws UsageError for a problem or options out of range, EnvironmentError when there is no
  // compiler (NVRTC; for the CPU device a C++ compiler) or no problem fits the device,
  // StorageError as the constructor does. A default database that cannot be written to is no
  // error: see storage_problem; the results then live as long as the Library.
  TuningResult tune(const std::vector<GemmProblem>& problems, const TuningOptions& options = {});

  // A kernel of the application's own, which pragmas in a .cu file describe. Reads the file. Throws
  // UsageError for a wrong description, with its place in the file. With a bundle it throws
  // EnvironmentError where that has no such kernel, or one of another text.
  [[nodiscard]] Kernel kernel(const KernelSource& source);

  // Ends what MissPolicy::background does, at once and for good; calls go on with what was found.
  // The destructor does so too, whether plans are left or not.
  void stop_background();

 private:
  std::shared_ptr<Core> core_;
};

}  // namespace autotune
