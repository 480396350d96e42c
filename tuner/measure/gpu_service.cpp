// The service behind --device N: NVRTC and the driver, each opened when it is first needed, so that
// a compile worker never touches a device.
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "autotune/error.hpp"

#include "gpu/nvrtc.hpp"
#include "tuner/measure/gpu_measurer.hpp"
#include "tuner/worker/worker.hpp"

namespace autotune {
namespace {

using Clock = std::chrono::steady_clock;

class GpuService : public WorkerService {
 public:
  explicit GpuService(int ordinal) : ordinal_(ordinal) {}

  WorkerReply handle(const WorkerRequest& request) override {
    return std::visit([this](const auto& one) { return WorkerReply(answer(one)); }, request);
  }

 private:
  DescribeCompilerReply answer(const DescribeCompilerRequest&) {
    try {
      return {nvrtc()->build(), nvrtc()->path(), nvrtc()->architectures(), ""};
    } catch (const EnvironmentError& error) {
      return {"", "", {}, error.what()};
    }
  }

  CompileReply answer(const CompileRequest& request) {
    const auto compiler = nvrtc();
    const Clock::time_point start = Clock::now();
    gpu::CompileResult result = compiler->compile(request.name, request.source, request.options);
    result.resources.compile_ms =
        std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    return {result.ok, std::move(result.image), std::move(result.log), result.resources};
  }

  MeasureReply answer(const MeasureRequest& request) { return measurer().measure(request); }

  CalibrateReply answer(const CalibrateRequest&) { return measurer().calibrate(); }

  std::shared_ptr<const gpu::Nvrtc> nvrtc() {
    if (!nvrtc_) nvrtc_ = gpu::Nvrtc::open();
    return nvrtc_;
  }
  GpuMeasurer& measurer() {
    if (!measurer_) measurer_.emplace(ordinal_, nvrtc());
    return *measurer_;
  }

  int ordinal_;
  std::shared_ptr<const gpu::Nvrtc> nvrtc_;
  std::optional<GpuMeasurer> measurer_;
};

}  // namespace

std::unique_ptr<WorkerService> make_gpu_service(int device_ordinal) {
  return std::make_unique<GpuService>(device_ordinal);
}

}  // namespace autotune
