// A worker that answers in the caller's thread.
#include <utility>

#include "tuner/worker.hpp"

namespace autotune {
namespace {

class InProcessWorker : public Worker {
 public:
  explicit InProcessWorker(std::unique_ptr<WorkerService> service) : service_(std::move(service)) {}

  WorkerOutcome call(const WorkerRequest& request, std::chrono::milliseconds) override {
    return service_->handle(request);
  }

 private:
  std::unique_ptr<WorkerService> service_;
};

}  // namespace

std::unique_ptr<Worker> make_in_process_worker(std::unique_ptr<WorkerService> service) {
  return std::make_unique<InProcessWorker>(std::move(service));
}

}  // namespace autotune
