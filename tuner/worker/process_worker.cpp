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
#include "core/error_text.hpp"
#include "tuner/worker/child_process.hpp"
#include "tuner/worker/worker.hpp"

namespace autotune {
namespace {

// A worker that has closed its socket is about to end. It gets this much time to end by itself, so
// that its own exit is reported as the reason.
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

  // The system (when memory is short) or a person may kill or stop a worker. This says nothing
  // about the request, so another worker is asked. It is asked only once, because a candidate may
  // also kill or stop its own process.
  WorkerOutcome call(const WorkerRequest& request, CallLimit limit) override {
    ended_by_others_ = false;
    WorkerOutcome outcome = attempt(request, limit.from_now());
    if (!ended_by_others_) return outcome;
    try {
      return attempt(request, limit.from_now(kColdStart));
    } catch (const Error&) {
      return outcome;  // no other worker can be started
    }
  }

  // The call that is under way then finds its socket closed.
  void interrupt() override {
    const std::lock_guard lock(mutex_);
    interrupted_ = true;
    if (child_) child_->hang_up();
  }

 private:
  WorkerOutcome attempt(const WorkerRequest& request, std::chrono::milliseconds timeout) {
    constexpr std::chrono::hours kLongest(1000);  // keeps the sum below in range
    const Deadline deadline =
        std::chrono::steady_clock::now() + std::min<std::chrono::milliseconds>(timeout, kLongest);
    const std::string question = encode(request);
    // The death of a worker between two requests says nothing about this request.
    if (child_ && child_->hung_up()) forget_child();
    if (child_) {
      child_->forget_words();
    } else {
      start();  // its standard error belongs to this request from the start on
    }
    try {
      write_message(child_->socket(), question, deadline, child_->process());
      std::string answer;
      if (!read_message(child_->socket(), answer, deadline, child_->process())) {
        return failure(WorkerFailure::Kind::died, kHangUpPatience, "");
      }
      WorkerReply reply = decode_reply(answer);
      if (!answers(reply, request)) throw Error("a worker answered another question");
      // The worker ends itself, since its process is poisoned.
      if (is_poisoned(reply)) forget_child();
      return reply;
    } catch (const MessageTimeout&) {
      return failure(WorkerFailure::Kind::timed_out, std::chrono::milliseconds(0),
                     fmt::format("no answer within {} ms, ", timeout.count()));
    } catch (const std::exception& error) {
      return failure(WorkerFailure::Kind::died, kHangUpPatience,
                     fmt::format("{}, ", error_text(error)));
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
    const std::lock_guard lock(mutex_);
    // The CPU device's worker needs time to delete the files of its compiler, which was ended.
    const bool at_once = interrupted_ && device_ordinal_ != kCpuOrdinal;
    const ChildProcess::End end = child_->finish(at_once ? std::chrono::milliseconds(0) : patience);
    child_.reset();
    ended_by_others_ = end.by_others && !interrupted_;
    if (end.exit_code == kNoService) kind = WorkerFailure::Kind::no_service;
    return {kind, prefix + end.reason + memory_note(kind, end.peak_bytes / kMiB), !end.ended};
  }

  // Returns a note that the worker ran out of memory, since a compiler without memory may end in
  // any way. A peak above the limit is not the worker's own: a process starts with the figure of
  // its parent.
  [[nodiscard]] std::string memory_note(WorkerFailure::Kind kind, std::int64_t peak_mib) const {
    const bool near_limit = 2 * peak_mib > memory_mib_ && peak_mib <= memory_mib_;
    if (kind != WorkerFailure::Kind::died || !near_limit) return "";
    return fmt::format(" (out of memory: it had {} MiB of {} at most)", peak_mib, memory_mib_);
  }

  std::filesystem::path program_;
  int device_ordinal_;
  std::int64_t memory_mib_;
  std::mutex mutex_;  // protects the members that interrupt() accesses
  bool interrupted_ = false;
  bool ended_by_others_ = false;       // in the last attempt
  std::optional<ChildProcess> child_;  // only the thread that owns the worker changes it
};

}  // namespace

std::unique_ptr<Worker> make_process_worker(std::filesystem::path program, int device_ordinal,
                                            std::int64_t memory_bytes) {
  return std::make_unique<ProcessWorker>(std::move(program), device_ordinal, memory_bytes);
}

std::filesystem::path own_program_path() {
  std::error_code error;
  std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) {
    throw EnvironmentError("cannot find this program's file in /proc (" + error.message() +
                           "): mount /proc");
  }
  return path;
}

}  // namespace autotune
