#include "tuner/measure/gpu_service.hpp"

#include <chrono>
#include <optional>
#include <utility>

#include "autotune/error.hpp"

#include "gpu/nvrtc.hpp"
#include "tuner/measure/gpu_backend.hpp"

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

  CompileReply answer(const CompileRequest& request) try {
    const auto compiler = nvrtc();
    const Clock::time_point start = Clock::now();
    gpu::CompileResult result = compiler->compile(request.name, request.source, request.options);
    result.resources.compile_ms =
        std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    return {result.ok, std::move(result.image), std::move(result.log), result.resources, ""};
  } catch (const EnvironmentError& error) {
    return {.problem = error.what()};
  }

  MeasureReply answer(const MeasureRequest& request) {
    const gpu::ContextGuard guard = backend().enter();
    return measure(backend(), request);
  }

  CalibrateReply answer(const CalibrateRequest&) {
    const gpu::ContextGuard guard = backend().enter();
    return backend().calibrate();
  }

  std::shared_ptr<const gpu::Nvrtc> nvrtc() {
    if (!nvrtc_) nvrtc_ = gpu::Nvrtc::open();
    return nvrtc_;
  }
  GpuBackend& backend() {
    if (!backend_) backend_.emplace(ordinal_, nvrtc());
    return *backend_;
  }

  int ordinal_;
  std::shared_ptr<const gpu::Nvrtc> nvrtc_;
  std::optional<GpuBackend> backend_;
};

}  // namespace

std::unique_ptr<WorkerService> make_gpu_service(int device_ordinal) {
  return std::make_unique<GpuService>(device_ordinal);
}

}  // namespace autotune
