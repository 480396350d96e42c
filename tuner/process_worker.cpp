// A worker in a process of its own.
#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "autotune/error.hpp"

#include "tuner/child_process.hpp"
#include "tuner/worker.hpp"

namespace autotune {
namespace {

// A worker that closed its socket is about to end; it gets this long to do so by itself, so that
// the reason is its own.
constexpr std::chrono::milliseconds kExitPatience(200);

class ProcessWorker : public Worker {
 public:
  ProcessWorker(std::filesystem::path program, int device_ordinal)
      : program_(std::move(program)), device_ordinal_(device_ordinal) {}

  WorkerOutcome call(const WorkerRequest& request, std::chrono::milliseconds timeout) override {
    constexpr std::chrono::hours kLongest(1000);  // keeps the sum below in range
    const Deadline deadline =
        std::chrono::steady_clock::now() + std::min<std::chrono::milliseconds>(timeout, kLongest);
    const std::string question = encode(request);
    // A worker that died while it waited says nothing about this request.
    if (child_ && child_->hung_up()) child_.reset();
    if (child_) {
      child_->forget_words();
    } else {
      start();  // what it says from its start on belongs to this request
    }
    try {
      write_message(child_->socket(), question, deadline);
      std::string answer;
      if (!read_message(child_->socket(), answer, deadline)) {
        return failure(WorkerFailure::Kind::died, kExitPatience, "");
      }
      WorkerReply reply = decode_reply(answer);
      if (reply.index() != request.index()) throw Error("a worker answered another question");
      // It ends itself: its process could not have gone on.
      if (is_poisoned(reply)) child_.reset();
      return reply;
    } catch (const MessageTimeout&) {
      return failure(WorkerFailure::Kind::timed_out, std::chrono::milliseconds(0),
                     fmt::format("no answer within {} ms, ", timeout.count()));
    } catch (const Error& error) {
      return failure(WorkerFailure::Kind::died, kExitPatience, fmt::format("{}, ", error.what()));
    }
  }

 private:
  void start() {
    child_.emplace(program_,
                   std::vector<std::string>{"worker", "--device", std::to_string(device_ordinal_),
                                            "--parent", std::to_string(::getpid())});
  }

  WorkerFailure failure(WorkerFailure::Kind kind, std::chrono::milliseconds patience,
                        const std::string& prefix) {
    const ChildProcess::End end = child_->finish(patience);
    child_.reset();
    return {kind, prefix + end.reason, !end.ended};
  }

  std::filesystem::path program_;
  int device_ordinal_;
  std::optional<ChildProcess> child_;
};

}  // namespace

std::unique_ptr<Worker> make_process_worker(std::filesystem::path program, int device_ordinal) {
  return std::make_unique<ProcessWorker>(std::move(program), device_ordinal);
}

std::filesystem::path own_program_path() {
  return std::filesystem::read_symlink("/proc/self/exe");
}

}  // namespace autotune
