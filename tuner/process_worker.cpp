// A worker in a process of its own.
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "autotune/error.hpp"
#include "tuner/child_process.hpp"
#include "tuner/worker.hpp"

namespace autotune {
namespace {

class ProcessWorker : public Worker {
 public:
  ProcessWorker(std::filesystem::path program, int device_ordinal)
      : program_(std::move(program)), device_ordinal_(device_ordinal) {}

  WorkerOutcome call(const WorkerRequest& request, std::chrono::milliseconds timeout) override {
    if (!child_) start();
    try {
      write_message(child_->socket(), encode(request));
      if (!child_->wait_readable(std::chrono::steady_clock::now() + timeout)) {
        return failure(WorkerFailure::Kind::timed_out,
                       fmt::format("no answer within {} ms, ", timeout.count()));
      }
      std::string bytes;
      if (!read_message(child_->socket(), bytes)) return failure(WorkerFailure::Kind::died, "");
      WorkerReply reply = decode_reply(bytes);
      // It has ended itself: its process could not have gone on.
      const auto* measured = std::get_if<MeasureReply>(&reply);
      if (measured != nullptr && measured->poisoned) child_.reset();
      return reply;
    } catch (const Error& error) {
      return failure(WorkerFailure::Kind::died, fmt::format("{}, ", error.what()));
    }
  }

 private:
  void start() {
    child_.emplace(program_, std::vector<std::string>{"worker", "--device",
                                                      std::to_string(device_ordinal_), "--parent",
                                                      std::to_string(::getpid())});
  }

  WorkerFailure failure(WorkerFailure::Kind kind, const std::string& prefix) {
    WorkerFailure result{kind, prefix + child_->finish()};
    child_.reset();
    return result;
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
