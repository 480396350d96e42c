// gemm() on a GPU: enqueued in the application's context, on its stream.
#include <map>
#include <mutex>
#include <utility>

#include "autotune/error.hpp"

#include "gemm/gemm_runner.hpp"
#include "gemm/prepared_kernels.hpp"
#include "gpu/context.hpp"
#include "gpu/gemm_arguments.hpp"
#include "gpu/module.hpp"
#include "gpu/scratch.hpp"

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
    gpu::GemmOperands operands = operands_of(call);
    const auto suits = [&](const LaunchGeometry& geometry) {
      return gpu::can_map(geometry, operands);
    };
    auto prepared = prepare(scope, call.problem, /*any_alignment=*/false, suits, call.stream);
    if (!suits(prepared.geometry)) {
      prepared = prepare(scope, call.problem, /*any_alignment=*/true, suits, call.stream);
    }
    operands.scratch = scratch(scope, prepared.geometry, call.stream);
    gpu::GemmArguments arguments(*driver_, prepared.geometry, call.problem, operands);
    prepared.kernel->kernel.launch(prepared.geometry, arguments.pointers(), call.stream);
    return prepared.match;
  }

  MatchKind prepare(const GemmProblem& problem, CUstream_st* stream) override {
    const gpu::DeviceContexts::Scope scope(contexts_);
    const auto suits = [](const LaunchGeometry&) { return true; };
    const auto prepared = prepare(scope, problem, /*any_alignment=*/false, suits, stream);
    scratch(scope, prepared.geometry, stream);
    if (prepared.geometry.needs_map_a() || prepared.geometry.needs_map_b()) {
      try {
        const auto other = prepare(scope, problem, /*any_alignment=*/true, suits, stream);
        scratch(scope, other.geometry, stream);
      } catch (const EnvironmentError&) {
        // Without a compiler. Operands that lie as the first kernel needs them are ready all the
        // same; for others gemm() says it again.
      }
    }
    return prepared.match;
  }

  void forget_choices() override { kernels_.forget_choices(); }

 private:
  using Prepared = PreparedKernels<GpuKernel>::Prepared;

  template <typename Suits>
  Prepared prepare(const gpu::DeviceContexts::Scope& scope, const GemmProblem& problem,
                   bool any_alignment, Suits suits, CUstream_st* stream) {
    const auto load = [&](const std::string& image, const std::string& name,
                          const LaunchGeometry& geometry) {
      refuse_capture(stream);
      return std::make_unique<GpuKernel>(*driver_, image, name, geometry);
    };
    return kernels_.find_or_prepare(scope.id(), problem, any_alignment, suits, load);
  }

  // Loading and allocating would break it.
  void refuse_capture(CUstream_st* stream) const {
    if (!gpu::is_capturing(*driver_, stream)) return;
    throw UsageError(
        "a stream is being captured that gemm() must first load a kernel or allocate memory for: "
        "call prepare() with it before the capture begins");
  }

  // What the kernel needs beside its operands. Launches on one stream follow each other, so they
  // share it.
  std::uint64_t scratch(const gpu::DeviceContexts::Scope& scope, const LaunchGeometry& geometry,
                        CUstream_st* stream) {
    const std::int64_t bytes = geometry.scratch_bytes();
    if (bytes == 0) return 0;
    const std::lock_guard lock(scratch_mutex_);
    const auto place = scratch_.try_emplace({scope.id(), stream}, *driver_).first;
    if (!place->second.has(bytes)) refuse_capture(stream);
    return place->second.reserve(bytes, stream);
  }

  static gpu::GemmOperands operands_of(const GemmCall& call) {
    const auto address = [](const float* matrix) {
      return reinterpret_cast<std::uint64_t>(matrix);
    };
    return {.a = address(call.a),
            .lda = call.lda,
            .b = address(call.b),
            .ldb = call.ldb,
            .c = address(call.c),
            .ldc = call.ldc,
            .alpha = call.alpha,
            .beta = call.beta};
  }

  std::shared_ptr<const gpu::Driver> driver_;
  int ordinal_;
  gpu::DeviceContexts contexts_;
  PreparedKernels<GpuKernel> kernels_;
  std::mutex scratch_mutex_;
  std::map<std::pair<std::uint64_t, CUstream_st*>, gpu::Scratch> scratch_;  // by context, stream
};

// What is in the primary context is unloaded and freed, if it still is the context it was. Contexts
// of the application's own may be gone; a context takes along what is in it.
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
  for (auto& [key, scratch] : scratch_) {
    if (key.first != living) scratch.leave_to_context();
  }
  scratch_.clear();
}

}  // namespace

std::unique_ptr<GemmRunner> make_gpu_gemm(KernelSupply& supply) {
  return std::make_unique<GpuGemm>(supply);
}

}  // namespace autotune
