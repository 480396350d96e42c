// gemm() on the CPU device: in host memory, done when the call returns.
#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include "autotune/error.hpp"

#include "api/gemm_backend.hpp"
#include "api/kernel_cache.hpp"
#include "cpu/launcher.hpp"

namespace autotune {
namespace {

constexpr std::uint64_t kOnlyContext = 0;

class CpuGemm : public GemmBackend {
 public:
  explicit CpuGemm(KernelSelector& supply) : kernels_(supply) {}

  MatchKind gemm(const GemmCall& call) override {
    refuse_stream(call.stream);
    const auto& prepared =
        prepare_kernel(call.problem, is_aligned(call) ? Placement::aligned : Placement::anywhere);
    const auto placed = placed_tensors(call);
    const auto sizes = sizes_of(call.problem);
    const std::array<double, 2> scalars = {call.alpha, call.beta};
    ArgumentPack arguments(*prepared.signature,
                           {.tensors = placed,
                            .sizes = sizes,
                            .scalars = scalars,
                            .raster = static_cast<std::uint32_t>(prepared.geometry.raster)});
    std::vector<std::int64_t> blocks(static_cast<std::size_t>(prepared.geometry.blocks()));
    std::iota(blocks.begin(), blocks.end(), 0);
    const std::lock_guard lock(launching_);
    const auto fault =
        launcher_->launch(*prepared.kernel, arguments.pointers(), prepared.geometry, blocks);
    if (fault) throw Error("gemm: " + *fault);
    return prepared.match;
  }

  MatchKind prepare(const GemmProblem& problem, CUstream_st* stream) override {
    refuse_stream(stream);
    if (!rows_are_aligned(problem)) return prepare_kernel(problem, Placement::anywhere).match;
    const MatchKind match = prepare_kernel(problem, Placement::aligned).match;
    try {
      prepare_kernel(problem, Placement::anywhere);
    } catch (const EnvironmentError&) {
      // Without a compiler aligned operands are ready all the same; for others gemm() says it
      // again.
    }
    return match;
  }

  void forget_choices() override { kernels_.forget_choices(); }

 private:
  static void refuse_stream(const CUstream_st* stream) {
    if (stream != nullptr) throw UsageError("stream: the CPU device has none");
  }

  const KernelCache<CpuKernel>::Prepared& prepare_kernel(const GemmProblem& problem,
                                                         Placement placement) {
    const auto load = [this](const std::string& image, const std::string& name,
                             const LaunchGeometry&) {
      if (!launcher_) launcher_.emplace();
      return std::make_unique<CpuKernel>(launcher_->load(image, name));
    };
    return kernels_.find_or_prepare(kOnlyContext, problem, placement, load);
  }

  std::optional<CpuLauncher> launcher_;  // with threads, so made with the first kernel
  std::mutex launching_;
  KernelCache<CpuKernel> kernels_;
};

}  // namespace

std::unique_ptr<GemmBackend> make_cpu_gemm(KernelSelector& supply) {
  return std::make_unique<CpuGemm>(supply);
}

}  // namespace autotune
