// gemm() on a GPU: enqueued in the application's context, on its stream.
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "autotune/error.hpp"

#include "api/gemm_backend.hpp"
#include "api/kernel_cache.hpp"
#include "api/stream_workspace.hpp"
#include "gpu/context.hpp"
#include "gpu/kernel_arguments.hpp"
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

class GpuGemm : public GemmBackend {
 public:
  explicit GpuGemm(KernelSelector& supply)
      : driver_(gpu::Driver::open()),
        ordinal_(supply.device().ordinal),
        contexts_(driver_, ordinal_),
        kernels_(supply),
        workspace_(*driver_) {}
  ~GpuGemm() override;

  MatchKind gemm(const GemmCall& call) override {
    const gpu::DeviceContexts::Scope scope(contexts_);
    const Placement placement = is_aligned(call) ? Placement::aligned : Placement::anywhere;
    const Prepared* prepared = &prepare(scope, call.problem, placement, call.stream);
    auto workspace =
        workspace_.reserve(scope.id(), prepared->geometry.workspace_bytes(), call.stream,
                           /*again=*/false);
    if (!workspace) {
      prepared = &prepare(scope, call.problem, Placement::frugal, call.stream);
      workspace = 0;
    }
    const LaunchGeometry& geometry = prepared->geometry;
    const auto placed = placed_tensors(call);
    const auto sizes = sizes_of(call.problem);
    const std::array<double, 2> scalars = {call.alpha, call.beta};
    gpu::KernelArguments arguments(*driver_, *prepared->signature, geometry, prepared->tensors,
                                   {.tensors = placed,
                                    .sizes = sizes,
                                    .scalars = scalars,
                                    .workspace = *workspace,
                                    .raster = static_cast<std::uint32_t>(geometry.raster)});
    prepared->kernel->kernel.launch(geometry, arguments.pointers(), call.stream);
    return prepared->match;
  }

  MatchKind prepare(const GemmProblem& problem, CUstream_st* stream) override {
    const gpu::DeviceContexts::Scope scope(contexts_);
    const auto prepare_for = [&](Placement placement) {
      const Prepared& prepared = prepare(scope, problem, placement, stream);
      if (workspace_.reserve(scope.id(), prepared.geometry.workspace_bytes(), stream,
                             /*again=*/true)) {
        return prepared.match;
      }
      return prepare(scope, problem, Placement::frugal, stream).match;
    };
    if (!rows_are_aligned(problem)) return prepare_for(Placement::anywhere);
    const MatchKind match = prepare_for(Placement::aligned);
    try {
      prepare_for(Placement::anywhere);
    } catch (const EnvironmentError&) {
      // Without a compiler aligned operands are ready all the same; for others gemm() says it
      // again.
    }
    return match;
  }

  void forget_choices() override { kernels_.forget_choices(); }

 private:
  using Prepared = KernelCache<GpuKernel>::Prepared;

  const Prepared& prepare(const gpu::DeviceContexts::Scope& scope, const GemmProblem& problem,
                          Placement placement, CUstream_st* stream) {
    const auto load = [&](const std::string& image, const std::string& name,
                          const LaunchGeometry& geometry) {
      refuse_capture(*driver_, stream);
      return std::make_unique<GpuKernel>(*driver_, image, name, geometry);
    };
    return kernels_.find_or_prepare(scope.id(), problem, placement, load);
  }

  std::shared_ptr<const gpu::Driver> driver_;
  int ordinal_;
  gpu::DeviceContexts contexts_;
  KernelCache<GpuKernel> kernels_;
  StreamWorkspace workspace_;
};

// Unloads and frees everything in the primary context, if that is still the same context. Contexts
// that the application made may be gone, and their content with them.
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
  workspace_.free_all(living);
}

}  // namespace

std::unique_ptr<GemmBackend> make_gpu_gemm(KernelSelector& supply) {
  return std::make_unique<GpuGemm>(supply);
}

}  // namespace autotune
