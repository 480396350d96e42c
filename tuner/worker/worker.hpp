// Workers compile and run candidates. A worker in a process of its own can be killed when a
// candidate hangs or poisons it; the program goes on with a new worker.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "tuner/worker/protocol.hpp"

namespace autotune {

// The failure of a worker that did not answer. It has ended, and the next call starts another one.
// `no_service` means that its service threw an error, so that the machine is at fault and not what
// the worker was asked about.
struct WorkerFailure {
  enum class Kind { timed_out, died, no_service };
  Kind kind = Kind::died;
  std::string reason;  // one line: "killed by signal 11 (SIGSEGV)", with its last message if any
  bool left_running = false;  // it could not be killed and keeps its device
};

using WorkerOutcome = std::variant<WorkerReply, WorkerFailure>;

// How long a call may take. A worker gets `time` to answer, and one that takes the place of a
// worker that something else ended gets more. Nothing goes on after `end`.
class CallLimit {
 public:
  using Clock = std::chrono::steady_clock;

  template <typename Rep, typename Period>
  CallLimit(std::chrono::duration<Rep, Period> time, std::optional<Clock::time_point> end = {})
      : time_(std::chrono::duration_cast<std::chrono::milliseconds>(time)), end_(end) {}

  // Returns the time for a worker that is asked now, with `more` time than the usual.
  [[nodiscard]] std::chrono::milliseconds from_now(std::chrono::milliseconds more = {}) const {
    if (!end_) return time_ + more;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*end_ - Clock::now());
    return std::clamp(left, std::chrono::milliseconds(0), time_ + more);
  }

 private:
  std::chrono::milliseconds time_;
  std::optional<Clock::time_point> end_;
};

// A Worker handles one request at a time. It belongs to the thread that calls it, which must
// outlive it: the operating system ends a worker process when the thread that started it ends.
class Worker {
 public:
  virtual ~Worker() = default;
  // Returns the reply, or the failure of the worker. Throws Error when no worker can be started.
  virtual WorkerOutcome call(const WorkerRequest& request, CallLimit limit) = 0;
  // May be called from any thread. Ends a worker in a process of its own, even in the middle of a
  // call. That call fails, and later calls may fail too. An in-process worker goes on.
  virtual void interrupt() {}
};

// Answers requests in the process in which it runs: a worker process, or the caller's process for
// an in-process worker. One service serves one thread.
class WorkerService {
 public:
  virtual ~WorkerService() = default;
  // The reply reports a failure of the candidate. A fault of the environment is thrown as Error.
  virtual WorkerReply handle(const WorkerRequest& request) = 0;
};

using WorkerFactory = std::function<std::unique_ptr<Worker>()>;

// Makes a worker that runs `service` in this process. It cannot enforce timeouts, and after a
// poisoned reply every further call fails.
[[nodiscard]] std::unique_ptr<Worker> make_in_process_worker(
    std::unique_ptr<WorkerService> service);

// Makes a worker in a process of its own. Its first call starts `program worker --device N` with
// posix_spawn (never with fork: a forked child of a process with NVRTC threads can deadlock). A
// timeout covers the whole exchange. A worker that exceeds it is killed, and one that cannot be
// killed is left behind after two seconds. The worker dies with this process. `memory_bytes` limits
// its address space; 0 means no limit, which a measuring worker needs.
[[nodiscard]] std::unique_ptr<Worker> make_process_worker(std::filesystem::path program,
                                                          int device_ordinal,
                                                          std::int64_t memory_bytes = 0);

// Runs the loop of a worker process, which answers messages on `fd` until the other side closes it
// or a reply is poisoned. Returns the process's exit code, which is kNoService if the service
// threw.
inline constexpr int kNoService = 71;
int serve(int fd, WorkerService& service);

// Returns the path of this program's own file, for make_process_worker.
[[nodiscard]] std::filesystem::path own_program_path();

}  // namespace autotune
