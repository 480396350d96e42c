// A worker in a process of its own.
#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include "autotune/error.hpp"
#include "autotune/version.hpp"

#include "core/device_info.hpp"
#include "tuner/worker/child_process.hpp"
#include "tuner/worker/worker.hpp"

namespace autotune {
namespace {

// A worker that closed its socket is about to end; it gets this long to do so by itself, so that
// the reason is its own.
constexpr std::chrono::milliseconds kHangUpPatience(1000);
// The time that a new worker needs for its first answer, in addition to that of a used worker.
constexpr std::chrono::seconds kColdStart(30);
constexpr std::int64_t kMiB = 1 << 20;

class ProcessWorker : public Worker {
 public:
  ProcessWorker(std::filesystem::path program, int device_ordinal, std::int64_t memory_bytes)
      : program_(std::move(program)),
        device_ordinal_(device_ordinal),
        memory_mib_(memory_bytes / kMiB) {}

  // A worker that something else kills, the system where memory is short or a person, says nothing
  // about its request: another one is asked, once, since a candidate may kill its own process.
  WorkerOutcome call(const WorkerRequest& request, std::chrono::milliseconds timeout) override {
    killed_by_others_ = false;
    WorkerOutcome outcome = attempt(request, timeout);
    if (!killed_by_others_) return outcome;
    try {
      return attempt(request, timeout + kColdStart);
    } catch (const Error&) {
      return outcome;  // no other one can be started
    }
  }

  // The call finds its socket at an end. But the C++ compiler of the CPU device is a process of
  // its own, which would outlive its worker: it is waited for.
  void interrupt() override {
    if (device_ordinal_ == kCpuOrdinal) return;
    const std::lock_guard lock(mutex_);
    interrupted_ = true;
    if (child_) ::shutdown(child_->socket(), SHUT_RDWR);
  }

 private:
  WorkerOutcome attempt(const WorkerRequest& request, std::chrono::milliseconds timeout) {
    constexpr std::chrono::hours kLongest(1000);  // keeps the sum below in range
    const Deadline deadline =
        std::chrono::steady_clock::now() + std::min<std::chrono::milliseconds>(timeout, kLongest);
    const std::string question = encode(request);
    // A worker that died while it waited says nothing about this request.
    if (child_ && child_->hung_up()) forget_child();
    if (child_) {
      child_->forget_words();
    } else {
      start();  // what it says from its start on belongs to this request
    }
    try {
      write_message(child_->socket(), question, deadline);
      std::string answer;
      if (!read_message(child_->socket(), answer, deadline)) {
        return failure(WorkerFailure::Kind::died, kHangUpPatience, "");
      }
      WorkerReply reply = decode_reply(answer);
      if (reply.index() != request.index()) throw Error("a worker answered another question");
      // It ends itself: its process could not have gone on.
      if (is_poisoned(reply)) forget_child();
      return reply;
    } catch (const MessageTimeout&) {
      return failure(WorkerFailure::Kind::timed_out, std::chrono::milliseconds(0),
                     fmt::format("no answer within {} ms, ", timeout.count()));
    } catch (const Error& error) {
      return failure(WorkerFailure::Kind::died, kHangUpPatience, fmt::format("{}, ", error.what()));
    }
  }

  void start() {
    const std::lock_guard lock(mutex_);
    if (interrupted_) throw Error("the worker was interrupted");
    child_.emplace(program_, std::vector<std::string>{"worker", "--version", kVersion, "--device",
                                                      std::to_string(device_ordinal_), "--parent",
                                                      std::to_string(::getpid()), "--memory-mib",
                                                      std::to_string(memory_mib_)});
  }

  void forget_child() {
    const std::lock_guard lock(mutex_);
    child_.reset();
  }

  WorkerFailure failure(WorkerFailure::Kind kind, std::chrono::milliseconds patience,
                        const std::string& prefix) {
    const bool at_once = [this] {
      const std::lock_guard lock(mutex_);
      return interrupted_;
    }();
    const ChildProcess::End end = child_->finish(at_once ? std::chrono::milliseconds(0) : patience);
    forget_child();
    killed_by_others_ = end.killed_by_others && kind == WorkerFailure::Kind::died && !at_once;
    return {kind, prefix + end.reason + memory_note(kind, end.peak_bytes / kMiB), !end.ended};
  }

  // A compiler that runs out of memory may end in any way. A peak above the limit is not the
  // worker's own: a process starts with the figure of its parent.
  [[nodiscard]] std::string memory_note(WorkerFailure::Kind kind, std::int64_t peak_mib) const {
    const bool near_limit = 2 * peak_mib > memory_mib_ && peak_mib <= memory_mib_;
    if (kind != WorkerFailure::Kind::died || !near_limit) return "";
    return fmt::format(" (out of memory: it had {} MiB of {} at most)", peak_mib, memory_mib_);
  }

  std::filesystem::path program_;
  int device_ordinal_;
  std::int64_t memory_mib_;
  std::mutex mutex_;  // of what interrupt() looks at
  bool interrupted_ = false;
  bool killed_by_others_ = false;      // in the last attempt
  std::optional<ChildProcess> child_;  // this thread alone changes it
};

}  // namespace

std::unique_ptr<Worker> make_process_worker(std::filesystem::path program, int device_ordinal,
                                            std::int64_t memory_bytes) {
  return std::make_unique<ProcessWorker>(std::move(program), device_ordinal, memory_bytes);
}

std::filesystem::path own_program_path() {
  return std::filesystem::read_symlink("/proc/self/exe");
}

}  // namespace autotune
