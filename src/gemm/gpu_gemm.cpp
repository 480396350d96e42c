// gemm() on a GPU: enqueued in the application's context, on its stream.
#include <set>
#include <utility>

#include "autotune/error.hpp"

#include "gemm/gemm_runner.hpp"
#include "gemm/prepared_kernels.hpp"
#include "gpu/context.hpp"
#include "gpu/module.hpp"

namespace autotune {
namespace {

struct GpuKernel {
  GpuKernel(const gpu::Driver& driver, const std::string& image, const std::string& name,
            const LaunchGeometry& geometry)
      : module(driver, image), kernel(module.kernel(name)) {
    kernel.allow_dynamic_shared(geometry.dynamic_shared_bytes);
  }

  gpu::Module module;
  gpu::Kernel kernel;
};

class GpuGemm : public GemmRunner {
 public:
  explicit GpuGemm(KernelSupply& supply)
      : driver_(gpu::Driver::open()),
        ordinal_(supply.device().ordinal),
        contexts_(driver_, ordinal_),
        kernels_(supply) {}
  ~GpuGemm() override;

  MatchKind gemm(const GemmCall& call) override {
    const gpu::DeviceContexts::Scope scope(contexts_);
    const auto prepared = prepare(scope, call.problem, call.stream);
    launch(prepared, call);
    return prepared.match;
  }

  MatchKind prepare(const GemmProblem& problem) override {
    const gpu::DeviceContexts::Scope scope(contexts_);
    return prepare(scope, problem, nullptr).match;
  }

  void forget_choices() override { kernels_.forget_choices(); }

 private:
  using Prepared = PreparedKernels<GpuKernel>::Prepared;

  Prepared prepare(const gpu::DeviceContexts::Scope& scope, const GemmProblem& problem,
                   CUstream_st* stream) {
    const auto load = [&](const std::string& image, const std::string& name,
                          const LaunchGeometry& geometry) {
      // Loading would break the capture.
      if (gpu::is_capturing(*driver_, stream)) {
        throw UsageError(
            "a stream is being captured that gemm() must first load a kernel for: "
            "call prepare() before the capture begins");
      }
      return std::make_unique<GpuKernel>(*driver_, image, name, geometry);
    };
    return kernels_.find_or_prepare(scope.id(), problem, load);
  }

  static void launch(const Prepared& prepared, GemmCall call) {
    auto [m, n, k, op_a, op_b, math] = call.problem;
    void* arguments[] = {&call.a,   &call.b,   &call.c,   &m,          &n,        &k,
                         &call.lda, &call.ldb, &call.ldc, &call.alpha, &call.beta};
    const gpu::Kernel& kernel = prepared.kernel->kernel;
    kernel.launch(prepared.geometry, arguments, call.stream);
  }

  std::shared_ptr<const gpu::Driver> driver_;
  int ordinal_;
  gpu::DeviceContexts contexts_;
  PreparedKernels<GpuKernel> kernels_;
};

// Kernels are unloaded from the primary context, if it still is the one they were loaded into.
// Contexts of the application's own may be gone; a context takes its kernels with it.
GpuGemm::~GpuGemm() {
  std::uint64_t living = 0;
  std::optional<gpu::PrimaryContext> primary;
  std::optional<gpu::ContextGuard> guard;
  try {
    if (gpu::PrimaryContext::is_active(*driver_, ordinal_)) {
      primary.emplace(driver_, ordinal_);
      guard.emplace(*primary);
      living = gpu::current_context_id(*driver_);
    }
  } catch (const gpu::DriverError&) {
    // Then nothing can be unloaded.
  }
  for (auto& [key, kernel] : kernels_.loaded()) {
    if (kernel && key.context != living) kernel->module.leave_to_context();
  }
  kernels_.loaded().clear();
}

}  // namespace

std::unique_ptr<GemmRunner> make_gpu_gemm(KernelSupply& supply) {
  return std::make_unique<GpuGemm>(supply);
}

}  // namespace autotune
