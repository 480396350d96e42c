// Workers: where candidates are compiled and run. A worker in a process of its own can be killed
// when a candidate hangs it or poisons it; the program goes on with a fresh one.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "tuner/worker/protocol.hpp"

namespace autotune {

// The worker did not answer. It is gone; the next call starts another.
struct WorkerFailure {
  enum class Kind { timed_out, died };
  Kind kind = Kind::died;
  std::string reason;  // one line: "killed by signal 11 (SIGSEGV)", with its last words if any
  bool left_running = false;  // it could not be killed and keeps its device
};

using WorkerOutcome = std::variant<WorkerReply, WorkerFailure>;

// One request at a time. A Worker belongs to the thread that calls it, which must outlive it: the
// kernel ends a worker process when the thread that started it ends.
class Worker {
 public:
  virtual ~Worker() = default;
  // The outcome says what became of the worker. Throws Error when none can be started.
  virtual WorkerOutcome call(const WorkerRequest& request, std::chrono::milliseconds timeout) = 0;
  // From any thread: a GPU's worker in a process of its own is killed in the middle of its call,
  // which fails, as any later one may. Others go on.
  virtual void interrupt() {}
};

// Answers requests where it runs: inside a worker process, or in the caller's for the in-process
// mode. One service serves one thread.
class WorkerService {
 public:
  virtual ~WorkerService() = default;
  // A candidate's failure is in the reply; faults of the environment are thrown as Error.
  virtual WorkerReply handle(const WorkerRequest& request) = 0;
};

using WorkerFactory = std::function<std::unique_ptr<Worker>()>;

// A worker that runs `service` in this process. Timeouts cannot be enforced, and after a poisoned
// reply nothing works any more: every further call fails.
[[nodiscard]] std::unique_ptr<Worker> make_in_process_worker(
    std::unique_ptr<WorkerService> service);

// A worker in a process of its own, started by the first call with posix_spawn from
// `program worker --device N` (never forked: a forked child of a process with NVRTC threads can
// deadlock). A timeout covers the whole exchange; the worker is then killed, and one that cannot
// be killed is left behind after two seconds. It dies with this process. `memory_bytes`: of address
// space, at most; 0: no limit, which a worker that measures needs.
[[nodiscard]] std::unique_ptr<Worker> make_process_worker(std::filesystem::path program,
                                                          int device_ordinal,
                                                          std::int64_t memory_bytes = 0);

// The loop of a worker process: answers messages on fd until the other side closes it or a reply
// is poisoned. Returns the process's exit code.
int serve(int fd, WorkerService& service);

// This program's own file, for make_process_worker: /proc/self/exe, resolved.
[[nodiscard]] std::filesystem::path own_program_path();

}  // namespace autotune
