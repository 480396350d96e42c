// Products on GPUs: the kernels that are chosen and loaded for them in the application's contexts.
#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "api/gemm_backend.hpp"
#include "api/gpu_launch.hpp"
#include "api/kernel_cache.hpp"
#include "api/plan_table.hpp"
#include "api/refusals.hpp"
#include "api/scalings.hpp"
#include "api/stream_workspace.hpp"
#include "gpu/context.hpp"
#include "gpu/memory.hpp"
#include "gpu/stream.hpp"
#include "gpu/workspace.hpp"
#include "kernel_templates/gemm_template.hpp"

namespace autotune {
namespace {

using Scope = gpu::CallerContexts::Scope;
class GpuGemm;

struct GpuPlan : PlannedGemm {
  GpuPlan(GpuGemm& owner, std::uint64_t in_context, BestConfiguration choice, GpuLaunch how,
          bool for_aligned, const GpuPlan* replaced = nullptr)
      : PlannedGemm(std::move(choice)),
        gemm(owner),
        context(in_context),
        launch(std::move(how)),
        before(replaced) {
    workspace_bytes = static_cast<std::size_t>(launch.geometry.workspace_bytes());
    needs_alignment = for_aligned;
  }

  void run(const GemmCall& call) const override;
  bool operator==(const GpuPlan& other) const {
    return is_chosen_as(other) && launch.kernel == other.launch.kernel && before == other.before;
  }

  GpuGemm& gemm;
  const std::uint64_t context;
  const GpuLaunch launch;
  const GpuPlan* const before;                            // the plan whose place it took
  mutable std::atomic<const Scaling*> scaling = nullptr;  // from plan() on, if it can be had
};

class GpuGemm : public GemmBackend {
 public:
  GpuGemm(const std::vector<DeviceInfo>& devices, std::optional<int> only,
          const SelectorSetup& setup, std::optional<std::size_t> max_workspace_bytes,
          const Allocator* allocator)
      : driver_(gpu::Driver::open()),
        allocator_(allocator),
        only_(only),
        log_(setup.log),
        contexts_(driver_, only.value_or(0)),
        workspace_(driver_, max_workspace_bytes.value_or(gpu::Workspace::kNoLimit), allocator) {
    for (const DeviceInfo& device : devices) {
      selectors_.push_back(std::make_unique<KernelSelector>(device, setup));
    }
  }
  ~GpuGemm() override;

  KernelSelector& selector() override;
  Tried try_gemm(const GemmCall& call) override;
  MatchKind gemm(const GemmCall& call) override;
  MatchKind prepare(const GemmProblem& problem, Stream stream) override;
  std::shared_ptr<PreparedOperand> prepare_operand(const GemmCall& call) override;
  const PlannedGemm& plan(const GemmProblem& problem, bool aligned, PointerMode scalars) override;
  void release(Stream stream) override {
    const Scope scope(contexts_);
    workspace_.release(scope.id(), stream);
  }
  void trim(std::size_t keep_bytes) override;
  void choose_again(const DeviceInfo& device, const GemmProblem& problem) override;
  void forget_choices() override {
    plans_.forget();
    refusals_.forget();
  }

  void run(const GpuPlan& plan, const GemmCall& call) const;

 private:
  const GpuPlan& plan_for(const PlanKey& key, Stream stream);
  // The call's own memory, with the last plan that it is enough for, or that of its stream.
  StreamWorkspace::Found memory_for(const GpuPlan*& plan, const GemmCall& call);
  // The same, allocated if need be, or in a capture that of the plan before; nullopt: too little.
  std::optional<std::uint64_t> workspace_for(const GpuPlan*& plan, const GemmCall& call);
  GpuLaunch launch_of(const PlanKey& key, const KernelChoice& choice, std::optional<Stream> stream);
  // Throws as refuse_capture() does where it would have to load; without a stream there is no call
  // that could be captured.
  const GpuKernel& load(std::uint64_t context, const KernelChoice& choice, CodeTraits traits,
                        const LaunchGeometry& geometry, std::optional<Stream> stream);
  // Returns whether the thread's current context is one of another GPU than the only one.
  [[nodiscard]] bool is_elsewhere() const {
    return only_ && gpu::current_device(*driver_).value_or(*only_) != *only_;
  }
  Tried missing(const PlanKey& key) {
    return {is_elsewhere() || refusals_.refuses(key) ? Outcome::refused : Outcome::not_ready};
  }
  Tried try_scaling(const Scope& scope, const GemmCall& call);
  const Scaling& scaling_for(const PlanKey& key, Stream stream);
  std::shared_ptr<const gpu::Driver> driver_;
  const Allocator* allocator_;
  std::optional<int> only_;
  const Log& log_;
  gpu::CallerContexts contexts_;
  std::vector<std::unique_ptr<KernelSelector>> selectors_;  // one a GPU
  KernelCache<GpuKernel> kernels_;
  PlanTable<GpuPlan> plans_;
  Refusals refusals_;
  Scalings scalings_;
  StreamWorkspace workspace_;
};

// Unloads and frees everything in primary contexts that are still the same. Contexts that the
// application made may be gone, and their content with them.
GpuGemm::~GpuGemm() {
  for (const auto& selector : selectors_) {
    gpu::in_living_primary_context(driver_, selector->device().ordinal, [&](std::uint64_t id) {
      kernels_.unload_context(id);
      workspace_.free_all(id);
    });
  }
  kernels_.visit_loaded([](GpuKernel& kernel) { kernel.module.leave_to_context(); });
}

PlanKey key_of(const Scope& scope, const GemmCall& call) {
  if (!call.multiplies()) return Scalings::key_of(scope.id(), call.problem, call.pointer_mode());
  return {scope.id(), call.problem, placement_of(call), call.pointer_mode()};
}

void GpuGemm::trim(std::size_t keep_bytes) {
  const Scope scope(contexts_, /*may_create=*/false);
  if (scope.id() != 0) workspace_.trim(scope.id(), keep_bytes);
}

KernelSelector& GpuGemm::selector() {
  const int wanted = only_.value_or(0);
  const int here = gpu::current_device(*driver_).value_or(wanted);
  if (only_ && here != wanted) {
    throw UsageError(fmt::format(
        "the thread's current CUDA context belongs to GPU {}, but this Library to GPU {}", here,
        wanted));
  }
  return *selectors_.at(static_cast<std::size_t>(here));
}

Tried GpuGemm::try_gemm(const GemmCall& call) {
  if (call.is_empty()) return {Outcome::done};
  const Scope scope(contexts_, /*may_create=*/false);
  if (scope.id() == 0) return {Outcome::not_ready};
  if (!call.multiplies()) return try_scaling(scope, call);
  PlanKey key = key_of(scope, call);
  const GpuPlan* plan = plans_.find(key);
  StreamWorkspace::Found workspace;
  if (plan != nullptr) workspace = memory_for(plan, call);
  if (workspace.is_short) {
    key.placement = Placement::frugal;
    plan = plans_.find(key);
    workspace.address = 0;
  }
  if (plan == nullptr) return missing(key);
  if (!workspace.address) return {Outcome::not_ready};
  multiply(*driver_, plan->launch, call, *workspace.address);
  return {Outcome::done, plan->best.match};
}

StreamWorkspace::Found GpuGemm::memory_for(const GpuPlan*& plan, const GemmCall& call) {
  const auto bytes = static_cast<std::int64_t>(plan->workspace_bytes);
  if (call.workspace.data == nullptr) return workspace_.find(plan->context, bytes, call.stream);
  const auto is_short = [&] { return call.workspace.bytes < plan->workspace_bytes; };
  while (is_short() && plan->before != nullptr) plan = plan->before;
  return {address_of(call.workspace.data), is_short()};
}

Tried GpuGemm::try_scaling(const Scope& scope, const GemmCall& call) {
  if (is_elsewhere()) return {Outcome::refused};
  if (scaled_by_driver(*driver_, call)) return {Outcome::done};
  const PlanKey key = key_of(scope, call);
  const Scaling* const known = scalings_.find(key);
  if (known == nullptr) return missing(key);
  scale(*driver_, *known, call);
  return {Outcome::done};
}

MatchKind GpuGemm::gemm(const GemmCall& call) {
  if (const Tried tried = try_gemm(call); tried.outcome == Outcome::done) return tried.match;
  const Scope scope(contexts_);
  PlanKey key = key_of(scope, call);
  if (!call.multiplies()) {
    static_cast<void>(selector());
    if (!scaled_by_driver(*driver_, call)) scale(*driver_, scaling_for(key, call.stream), call);
    return MatchKind::exact;
  }
  const GpuPlan* plan = &plan_for(key, call.stream);
  auto workspace = workspace_for(plan, call);
  if (!workspace) {
    key.placement = Placement::frugal;
    plan = &plan_for(key, call.stream);
    workspace = 0;
  }
  multiply(*driver_, plan->launch, call, *workspace);
  return plan->best.match;
}

std::optional<std::uint64_t> GpuGemm::workspace_for(const GpuPlan*& plan, const GemmCall& call) {
  const StreamWorkspace::Found found = memory_for(plan, call);
  if (found.is_short) return std::nullopt;
  if (found.address) return found.address;
  while (true) try {
      return workspace_.reserve(plan->context, static_cast<std::int64_t>(plan->workspace_bytes),
                                call.stream, /*again=*/false);
    } catch (const UsageError&) {
      if (plan->before == nullptr) throw;
      plan = plan->before;
    }
}

MatchKind GpuGemm::prepare(const GemmProblem& problem, Stream stream) {
  const Scope scope(contexts_);
  const auto prepare_for = [&](Placement placement) {
    const GpuPlan& plan = plan_for({scope.id(), problem, placement}, stream);
    const auto bytes = static_cast<std::int64_t>(plan.workspace_bytes);
    if (workspace_.reserve(scope.id(), bytes, stream, /*again=*/true)) return plan.best.match;
    log_.warning("{}: a workspace of {} bytes cannot be had, so another kernel is taken",
                 to_string(problem), bytes);
    return plan_for({scope.id(), problem, Placement::frugal}, stream).best.match;
  };
  if (!multiplies(problem)) return MatchKind::exact;
  if (!rows_are_aligned(problem)) return prepare_for(Placement::anywhere);
  const MatchKind match = prepare_for(Placement::aligned);
  try {
    prepare_for(Placement::anywhere);
  } catch (const EnvironmentError&) {
    // Aligned operands are ready without a compiler all the same; for others gemm() says it.
  }
  return match;
}

std::shared_ptr<PreparedOperand> GpuGemm::prepare_operand(const GemmCall& call) {
  const Scope scope(contexts_);
  auto operand = unprepared<GpuPrepared>(call);
  const std::size_t index = call.a.data != nullptr ? 0 : 1;
  const std::int64_t row_bytes = operand->place.ld * size_bytes(operand->place.type);
  const bool aligned = rows_are_aligned(call.problem) && row_bytes % 16 == 0 &&
                       address_of(operand->place.data) % 16 == 0;
  const GpuPlan& plan = plan_for(
      {scope.id(), call.problem, aligned ? Placement::aligned : Placement::anywhere}, call.stream);
  if (plan.launch.geometry.preparation.shares[index].bytes == 0) return operand;
  refuse_capture(*driver_, call.stream);
  operand->driver = driver_;
  operand->allocator = allocator_;
  operand->ordinal = selector().device().ordinal;
  operand->context = scope.id();
  autotune::prepare_operand(plan.launch, call, index, *operand);
  return operand;
}

const PlannedGemm& GpuGemm::plan(const GemmProblem& problem, bool aligned, PointerMode scalars) {
  const Scope scope(contexts_);
  const bool is_product = multiplies(problem);
  const PlanKey key{scope.id(), problem,
                    aligned && is_product ? Placement::aligned : Placement::anywhere, scalars};
  const GpuPlan& plan = is_product ? plan_for(key, nullptr)
                                   : plans_.insert(key, plans_.generation(), *this, scope.id(),
                                                   nothing_to_choose(problem), GpuLaunch(), false);
  // A product's kernel that finds factors in memory scales C itself.
  if (plan.scaling.load() == nullptr && !(is_product && scalars == PointerMode::device)) {
    try {
      plan.scaling =
          &scaling_for(Scalings::key_of(scope.id(), problem, scalars), /*stream=*/nullptr);
    } catch (const Error& error) {
      log_.info("{}: C cannot be scaled alone: {}", to_string(problem), error.what());
    }
  }
  return plan;
}

const GpuPlan& GpuGemm::plan_for(const PlanKey& key, Stream stream) {
  if (const GpuPlan* known = plans_.find(key)) return *known;
  return refusals_.unless_refused(key, [&]() -> const GpuPlan& {
    KernelSelector& chooses = selector();
    chooses.tune_if_missed(key.problem, key.placement);
    const std::uint64_t generation = plans_.generation();
    const KernelChoice choice = chooses.choose(key.problem, key.placement);
    return plans_.insert(key, generation, *this, key.context, choice.best,
                         launch_of(key, choice, stream), key.placement == Placement::aligned);
  });
}

void GpuGemm::choose_again(const DeviceInfo& device, const GemmProblem& problem) {
  const std::uint64_t generation = plans_.advance();
  refusals_.forget();
  const auto replace = [&](const PlanKey& key) {
    const GpuPlan* const before = plans_.find(key);
    if (before == nullptr) return;
    const KernelChoice choice = selector().choose(problem, key.placement);
    plans_.replace(key, generation, *this, key.context, choice.best,
                   launch_of(key, choice, /*stream=*/std::nullopt),
                   key.placement == Placement::aligned, before);
  };
  gpu::in_living_primary_context(driver_, device.ordinal, [&](std::uint64_t context) {
    for (const Placement placement : kPlacements) {
      for (const PointerMode scalars : {PointerMode::host, PointerMode::device}) {
        try {
          replace({context, problem, placement, scalars});
        } catch (const std::exception& error) {
          log_.warning("{} keeps its kernel: {}", to_string(problem), error.what());
        }
      }
    }
  });
}

GpuLaunch GpuGemm::launch_of(const PlanKey& key, const KernelChoice& choice,
                             std::optional<Stream> stream) {
  const KernelTemplate& kernel = *choice.kernel;
  const Problem problem = choice.problem;
  const bool aligned = key.placement == Placement::aligned;
  GpuLaunch launch = launch_without_code(kernel, choice.best.configuration, problem, key.scalars);
  launch.geometry = launch.geometry.on_device(selector().device().sm_count);
  if (!aligned) launch.geometry = launch.geometry.without_maps();
  CodeTraits traits{code_macros(kernel, problem), aligned};
  if (key.scalars == PointerMode::device) traits.macros.emplace_back("SCALARS_IN_MEMORY=1");
  launch.kernel = &load(key.context, choice, std::move(traits), launch.geometry, stream);
  return launch;
}

const GpuKernel& GpuGemm::load(std::uint64_t context, const KernelChoice& choice, CodeTraits traits,
                               const LaunchGeometry& geometry, std::optional<Stream> stream) {
  const KernelTemplate& kernel = *choice.kernel;
  const KernelKey key{context, kernel.name, compiled_as(kernel, choice.best.configuration),
                      compiled_for(kernel, std::move(traits))};
  const GpuKernel& loaded = kernels_.find_or_load(key, [&] {
    if (stream) refuse_capture(*driver_, *stream);
    const std::string image = selector().image(choice, key.traits);
    const gpu::RelaxedCapture others_may_capture(*driver_);
    return std::make_unique<GpuKernel>(*driver_, image, kernel.name);
  });
  loaded.allow(geometry);
  return loaded;
}

const Scaling& GpuGemm::scaling_for(const PlanKey& key, Stream stream) {
  if (const Scaling* const known = scalings_.find(key)) return *known;
  return refusals_.unless_refused(key, [&]() -> const Scaling& {
    const KernelChoice choice =
        scaling_choice(selector().kernels(), /*batched=*/key.problem.batch > 1);
    Scaling scaling{launch_of(key, choice, stream),
                    choice.kernel->tile_shape(choice.best.configuration)};
    return scalings_.insert(key, std::move(scaling));
  });
}

void GpuGemm::run(const GpuPlan& plan, const GemmCall& call) const {
  const Scope scope(contexts_);
  if (scope.id() != plan.context) {
    throw UsageError("the plan was made in another CUDA context than the thread's current one");
  }
  const std::uint64_t workspace = address_of(call.workspace.data);
  if (call.multiplies()) return multiply(*driver_, plan.launch, call, workspace);
  if (scaled_by_driver(*driver_, call)) return;
  const Scaling* const scaling = plan.scaling;
  if (scaling == nullptr) {
    throw EnvironmentError(
        "C cannot be scaled alone: when the plan was made its kernel could not be compiled");
  }
  scale(*driver_, *scaling, call);
}

void GpuPlan::run(const GemmCall& call) const {
  gemm.run(*this, call);
}

}  // namespace

std::unique_ptr<GemmBackend> make_gpu_gemm(const std::vector<DeviceInfo>& devices,
                                           std::optional<int> only, const SelectorSetup& setup,
                                           std::optional<std::size_t> max_workspace_bytes,
                                           const Allocator* allocator) {
  return std::make_unique<GpuGemm>(devices, only, setup, max_workspace_bytes, allocator);
}

}  // namespace autotune
