// A worker that answers in the caller's thread.
#include <utility>

#include "core/error_text.hpp"
#include "tuner/worker/worker.hpp"

namespace autotune {
namespace {

class InProcessWorker : public Worker {
 public:
  explicit InProcessWorker(std::unique_ptr<WorkerService> service) : service_(std::move(service)) {}

  WorkerOutcome call(const WorkerRequest& request, CallLimit) override {
    if (poisoned_) {
      return WorkerFailure{WorkerFailure::Kind::died,
                           "an earlier kernel made this process lose its device"};
    }
    try {
      WorkerReply reply = service_->handle(request);
      poisoned_ = is_poisoned(reply);
      return reply;
    } catch (const std::exception& error) {
      return WorkerFailure{WorkerFailure::Kind::no_service, error_text(error)};
    }
  }

 private:
  std::unique_ptr<WorkerService> service_;
  bool poisoned_ = false;
};

}  // namespace

std::unique_ptr<Worker> make_in_process_worker(std::unique_ptr<WorkerService> service) {
  return std::make_unique<InProcessWorker>(std::move(service));
}

}  // namespace autotune
