#include "tuner/measure/cpu_service.hpp"

#include <chrono>
#include <optional>
#include <utility>

#include "autotune/error.hpp"

#include "cpu/calibration.hpp"
#include "cpu/compiler.hpp"
#include "cpu/device.hpp"
#include "tuner/measure/cpu_backend.hpp"

namespace autotune {
namespace {

using Clock = std::chrono::steady_clock;

class CpuService : public WorkerService {
 public:
  WorkerReply handle(const WorkerRequest& request) override {
    return std::visit([this](const auto& one) { return WorkerReply(answer(one)); }, request);
  }

 private:
  DescribeCompilerReply answer(const DescribeCompilerRequest&) {
    try {
      const CpuCompileResult probe =
          compiler().compile("probe", "extern \"C\" __global__ void probe() {}", {});
      if (!probe.ok) {
        throw EnvironmentError(compiler().path() + " does not compile an empty kernel: " +
                               probe.log.substr(0, probe.log.find('\n')));
      }
      return {compiler().build(), compiler().path(), {cpu_device_info().architecture()}, ""};
    } catch (const EnvironmentError& error) {
      return {"", "", {}, error.what()};
    }
  }

  CompileReply answer(const CompileRequest& request) try {
    const Clock::time_point start = Clock::now();
    CpuCompileResult result = compiler().compile(request.name, request.source, request.options);
    CompileReply reply{result.ok, std::move(result.image), std::move(result.log), {}, ""};
    reply.resources.cubin_bytes = static_cast<std::int64_t>(reply.cubin.size());
    reply.resources.compile_ms =
        std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    return reply;
  } catch (const EnvironmentError& error) {
    return {.problem = error.what()};
  }

  MeasureReply answer(const MeasureRequest& request) { return measure(device(), request); }

  CalibrateReply answer(const CalibrateRequest&) {
    ThreadPool& pool = device().pool();
    return {measure_multiply_adds(pool), measure_copying(pool), ""};
  }

  // A worker may never measure, so each is made when it is first needed.
  CpuCompiler& compiler() {
    if (!compiler_) compiler_.emplace();
    return *compiler_;
  }
  CpuBackend& device() {
    if (!device_) device_.emplace([this]() -> const CpuCompiler& { return compiler(); });
    return *device_;
  }

  std::optional<CpuCompiler> compiler_;
  std::optional<CpuBackend> device_;
};

}  // namespace

std::unique_ptr<WorkerService> make_cpu_service() {
  return std::make_unique<CpuService>();
}

}  // namespace autotune
