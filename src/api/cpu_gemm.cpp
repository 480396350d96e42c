// Products on the CPU device: in host memory, done when the call returns.
#include <array>
#include <cstring>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "autotune/error.hpp"

#include "api/gemm_backend.hpp"
#include "api/kernel_cache.hpp"
#include "api/plan_table.hpp"
#include "api/refusals.hpp"
#include "cpu/launcher.hpp"
#include "kernel_templates/gemm_template.hpp"

namespace autotune {
namespace {

constexpr std::uint64_t kOnlyContext = 0;

class CpuGemm;

// A kernel with all that its launches have in common.
struct CpuLaunch {
  const CpuKernel* kernel = nullptr;
  LaunchGeometry geometry;
  ArgumentLayout arguments;
};

struct CpuPlan : PlannedGemm {
  CpuPlan(CpuGemm& owner, BestConfiguration choice, CpuLaunch how, bool for_aligned)
      : PlannedGemm(std::move(choice)), gemm(owner), launch(std::move(how)) {
    needs_alignment = for_aligned;
  }

  void run(const GemmCall& call) const override;

  bool operator==(const CpuPlan& other) const {
    return is_chosen_as(other) && launch.kernel == other.launch.kernel;
  }

  CpuGemm& gemm;
  const CpuLaunch launch;
};

void refuse_stream(Stream stream) {
  if (stream != nullptr) throw UsageError("stream: the CPU device has none");
}

class CpuGemm : public GemmBackend {
 public:
  CpuGemm(const DeviceInfo& device, const SelectorSetup& setup)
      : log_(setup.log), selector_(device, setup) {}

  KernelSelector& selector() override { return selector_; }
  Tried try_gemm(const GemmCall& call) override;
  MatchKind gemm(const GemmCall& call) override;
  MatchKind prepare(const GemmProblem& problem, Stream stream) override;
  // Portable kernels work on the operands themselves.
  std::shared_ptr<PreparedOperand> prepare_operand(const GemmCall& call) override {
    refuse_stream(call.stream);
    return unprepared<PreparedOperand>(call);
  }
  const PlannedGemm& plan(const GemmProblem& problem, bool aligned, PointerMode) override {
    return plan_for(problem, aligned ? Placement::aligned : Placement::anywhere);
  }
  void release(Stream) override {}
  void trim(std::size_t) override {}
  void choose_again(const DeviceInfo& device, const GemmProblem& problem) override;
  void forget_choices() override {
    plans_.forget();
    refusals_.forget();
  }

  void run(const CpuPlan& plan, const GemmCall& call);

 private:
  const CpuPlan& plan_for(const GemmProblem& problem, Placement placement);
  CpuLaunch launch_of(const KernelChoice& choice, Placement placement);
  const CpuKernel& load(const KernelChoice& choice, CodeTraits traits);

  const Log& log_;
  KernelSelector selector_;
  std::mutex launcher_mutex_;
  std::optional<CpuLauncher> launcher_;  // with threads, so made with the first kernel
  std::mutex launching_;
  KernelCache<CpuKernel> kernels_;
  PlanTable<CpuPlan> plans_;
  Refusals refusals_;
};

// The device's memory is this process's: factors are read here, and C is copied to where the result
// goes.
GemmCall with_values(GemmCall call) {
  if (call.has_scalars_in_memory()) {
    call.alpha = *std::exchange(call.alpha_ptr, nullptr);
    call.beta = *std::exchange(call.beta_ptr, nullptr);
    if (!call.reads_c()) call.copied.data = nullptr;
  }
  const auto* const from = static_cast<const char*>(call.copied.data);
  if (from == nullptr) return call;
  const std::int64_t bytes = size_bytes(call.c.type);  // of an element
  for (std::int64_t i = 0; i < call.problem.m * call.problem.batch; ++i) {
    const auto row_of = [&](const MutableMatrix& matrix) {
      return bytes * (i / call.problem.m * matrix.stride + i % call.problem.m * matrix.ld);
    };
    std::memcpy(static_cast<char*>(call.c.data) + row_of(call.c), from + row_of(call.copied),
                static_cast<std::size_t>(bytes * call.problem.n));
  }
  return call;
}

void scale(const GemmCall& call) {
  const ElementType type = call.c.type;
  const double beta = call.beta;
  for (std::int64_t i = 0; i < call.problem.m * call.problem.batch; ++i) {
    const std::int64_t row = i % call.problem.m;
    const std::int64_t first = i / call.problem.m * call.c.stride + row * call.c.ld;
    for (std::int64_t column = 0; column < call.problem.n; ++column) {
      void* const element = static_cast<char*>(call.c.data) + (first + column) * size_bytes(type);
      store_element(type, element, beta == 0 ? 0 : beta * load_element(type, element));
    }
  }
}

Tried CpuGemm::try_gemm(const GemmCall& call) {
  if (call.stream != nullptr) return {Outcome::refused};
  if (call.is_empty()) return {Outcome::done};
  if (!call.multiplies()) {
    scale(with_values(call));
    return {Outcome::done};
  }
  const PlanKey key{kOnlyContext, call.problem, placement_of(call)};
  const CpuPlan* const plan = plans_.find(key);
  if (plan == nullptr) return {refusals_.refuses(key) ? Outcome::refused : Outcome::not_ready};
  run(*plan, call);
  return {Outcome::done, plan->best.match};
}

MatchKind CpuGemm::gemm(const GemmCall& call) {
  refuse_stream(call.stream);
  if (const Tried tried = try_gemm(call); tried.outcome == Outcome::done) return tried.match;
  const CpuPlan& plan = plan_for(call.problem, placement_of(call));
  run(plan, call);
  return plan.best.match;
}

MatchKind CpuGemm::prepare(const GemmProblem& problem, Stream stream) {
  refuse_stream(stream);
  if (!rows_are_aligned(problem)) return plan_for(problem, Placement::anywhere).best.match;
  const MatchKind match = plan_for(problem, Placement::aligned).best.match;
  try {
    static_cast<void>(plan_for(problem, Placement::anywhere));
  } catch (const EnvironmentError&) {
    // Without a compiler aligned operands are ready all the same; for others gemm() says it
    // again.
  }
  return match;
}

const CpuPlan& CpuGemm::plan_for(const GemmProblem& problem, Placement placement) {
  const PlanKey key{kOnlyContext, problem, placement};
  if (const CpuPlan* known = plans_.find(key)) return *known;
  if (!multiplies(problem)) {
    return plans_.insert(key, plans_.generation(), *this, nothing_to_choose(problem), CpuLaunch(),
                         false);
  }
  return refusals_.unless_refused(key, [&]() -> const CpuPlan& {
    selector_.tune_if_missed(problem, placement);
    const std::uint64_t generation = plans_.generation();
    const KernelChoice choice = selector_.choose(problem, placement);
    return plans_.insert(key, generation, *this, choice.best, launch_of(choice, placement),
                         placement == Placement::aligned);
  });
}

void CpuGemm::choose_again(const DeviceInfo&, const GemmProblem& problem) {
  const std::uint64_t generation = plans_.advance();
  refusals_.forget();
  for (const Placement placement : kPlacements) {
    const PlanKey key{kOnlyContext, problem, placement};
    if (plans_.find(key) == nullptr) continue;
    try {
      const KernelChoice choice = selector_.choose(problem, placement);
      plans_.replace(key, generation, *this, choice.best, launch_of(choice, placement),
                     placement == Placement::aligned);
    } catch (const std::exception& error) {
      log_.warning("{} keeps its kernel: {}", to_string(problem), error.what());
    }
  }
}

CpuLaunch CpuGemm::launch_of(const KernelChoice& choice, Placement placement) {
  const KernelTemplate& kernel = *choice.kernel;
  const Problem problem = choice.problem;
  CpuLaunch launch;
  launch.kernel = &load(choice, {code_macros(kernel, problem), placement == Placement::aligned});
  launch.geometry = kernel.geometry(choice.best.configuration, problem)
                        .on_device(selector_.device().sm_count)
                        .without_maps();
  launch.arguments = ArgumentLayout(kernel.signature(problem));
  return launch;
}

const CpuKernel& CpuGemm::load(const KernelChoice& choice, CodeTraits traits) {
  const KernelTemplate& kernel = *choice.kernel;
  const KernelKey key{kOnlyContext, kernel.name, compiled_as(kernel, choice.best.configuration),
                      compiled_for(kernel, std::move(traits))};
  return kernels_.find_or_load(key, [&] {
    {
      const std::lock_guard lock(launcher_mutex_);
      if (!launcher_) launcher_.emplace();
    }
    return std::make_unique<CpuKernel>(
        launcher_->load(selector_.image(choice, key.traits), kernel.name));
  });
}

void CpuGemm::run(const CpuPlan& plan, const GemmCall& given) {
  refuse_stream(given.stream);
  const GemmCall call = with_values(given);
  if (!call.multiplies()) return scale(call);
  const auto placed = placed_tensors(call);
  const auto sizes = sizes_of(call.problem);
  const std::array<double, 2> scalars = {call.alpha, call.beta};
  const LaunchGeometry& geometry = plan.launch.geometry;
  ArgumentPack arguments(plan.launch.arguments,
                         {.tensors = placed,
                          .sizes = sizes,
                          .scalars = scalars,
                          .raster = static_cast<std::uint32_t>(geometry.raster)});
  std::vector<std::int64_t> blocks(static_cast<std::size_t>(geometry.blocks()));
  std::iota(blocks.begin(), blocks.end(), 0);
  const std::lock_guard lock(launching_);
  const auto fault = launcher_->launch(*plan.launch.kernel, arguments.pointers(), geometry, blocks);
  if (fault) throw Error("gemm: " + *fault);
}

void CpuPlan::run(const GemmCall& call) const {
  gemm.run(*this, call);
}

}  // namespace

std::unique_ptr<GemmBackend> make_cpu_gemm(const DeviceInfo& device, const SelectorSetup& setup) {
  return std::make_unique<CpuGemm>(device, setup);
}

}  // namespace autotune
