#include "api/kernel_selector.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "api/lookup.hpp"
#include "api/setup.hpp"
#include "core/compile_target.hpp"
#include "kernel_templates/kernel_registry.hpp"
#include "operation/gemm/gemm.hpp"

namespace autotune {
namespace {

// In place of a compiler's build: what gemm() used last, whatever compiled it. With it a kernel is
// found where there is no compiler to ask for its build.
constexpr const char* kAnyBuild = "any";

bool fits_device(const KernelTemplate& kernel, const Configuration& configuration,
                 const DeviceInfo& device) {
  const std::vector<Constraint> constraints = device_constraints(kernel, device);
  return std::all_of(constraints.begin(), constraints.end(),
                     [&](const Constraint& constraint) { return constraint.holds(configuration); });
}

// Returns whether the workspace of a kernel is a small part of the device's memory.
bool is_modest(const KernelTemplate& kernel, const Configuration& configuration,
               const GemmProblem& problem, Placement placement, const DeviceInfo& device) {
  constexpr std::int64_t kShare = 8;
  const std::int64_t bytes =
      kernel.geometry(configuration, problem).on_device(device.sm_count).workspace_bytes();
  if (bytes == 0 || placement == Placement::frugal) return bytes == 0;
  return device.memory_bytes == 0 ||
         bytes <= static_cast<std::int64_t>(device.memory_bytes) / kShare;
}

bool can_serve(const KernelTemplate& kernel, const Configuration& configuration,
               const GemmProblem& problem, Placement placement, const DeviceInfo& device) {
  return fits_device(kernel, configuration, device) &&
         is_modest(kernel, configuration, problem, placement, device);
}

KernelChoice stored_choice(Match match) {
  Winner& winner = match.winner;
  KernelChoice choice{built_in_kernels().find(winner.template_name), {}, {}};
  choice.best = {match.kind,
                 std::move(match.explanation),
                 std::move(winner.template_name),
                 std::move(winner.configuration),
                 gemm_problem(winner.problem),
                 winner.median_us};
  choice.compiler_build = std::move(winner.environment.nvrtc_build);
  return choice;
}

KernelChoice predicted_choice(const DeviceInfo& device, const GemmProblem& problem,
                              Placement placement) {
  std::vector<const KernelTemplate*> kernels = built_in_kernels().for_device(device);
  std::stable_partition(kernels.begin(), kernels.end(), [&](const KernelTemplate* kernel) {
    return kernel->first_choice && kernel->first_choice(problem);
  });
  for (const KernelTemplate* kernel : kernels) {
    if (!computes(*kernel, problem)) continue;
    Configuration configuration = kernel->default_configuration(problem);
    if (!can_serve(*kernel, configuration, problem, placement, device)) continue;
    return {kernel,
            {MatchKind::predicted, "nothing is stored: the template's default for this size",
             kernel->name, std::move(configuration), problem, std::nullopt},
            ""};
  }
  throw EnvironmentError(
      fmt::format("no kernel here computes {} on {}", to_string(problem), device.label));
}

}  // namespace

KernelSelector::KernelSelector(DeviceInfo device, std::string database, bool use_shipped)
    : device_(std::move(device)), database_(std::move(database)), use_shipped_(use_shipped) {
  static_cast<void>(read_results(database_));  // what cannot be read is said at once
}

KernelChoice KernelSelector::choose(const GemmProblem& problem, Placement placement) const {
  const auto in_memory = [this] {
    const std::lock_guard lock(results_mutex_);
    return results_in_memory_;
  }();
  std::optional<TuningDatabase> file;
  if (!in_memory) file = read_results(database_);
  const TuningDatabase* results = in_memory ? in_memory.get() : file ? &*file : nullptr;

  const DeviceQuery query{.device_class = device_.device_class(),
                          .environment = Environment{.driver = device_.driver_text()},
                          .use_shipped = use_shipped_};
  const auto serves = [&](const Winner& winner) {
    return can_serve(*built_in_kernels().find(winner.template_name), winner.configuration, problem,
                     placement, device_);
  };
  std::optional<Match> match = find_best(results, query, problem, /*exact_only=*/false, serves);
  return match ? stored_choice(std::move(*match)) : predicted_choice(device_, problem, placement);
}

void KernelSelector::keep_in_memory(TuningDatabase results) {
  auto kept = std::make_shared<const TuningDatabase>(std::move(results));
  const std::lock_guard lock(results_mutex_);
  results_in_memory_ = std::move(kept);
}

std::string KernelSelector::image(const KernelChoice& choice, const CodeTraits& traits) {
  CubinStore store = open_cubin_store();
  const auto request_for = [&](const CodeTraits& wanted) {
    return CompileRequest{
        choice.kernel->name, std::string(choice.kernel->source),
        compile_options(*choice.kernel, choice.best.configuration, wanted, device_.architecture())};
  };
  const auto stored = [&](const CompileRequest& request) {
    std::optional<StoredCubin> found;
    for (const std::string& build : {choice.compiler_build, std::string(kAnyBuild)}) {
      if (!found && !build.empty()) {
        found = store.find(cubin_key(build, request.source, request.options));
      }
    }
    return found;
  };
  const CompileRequest request = request_for(traits);
  if (auto found = stored(request)) return std::move(found->cubin);
  try {
    StoredCubin compiled = compile(request);
    store.put(cubin_key(kAnyBuild, request.source, request.options), compiled);
    return std::move(compiled.cubin);
  } catch (const EnvironmentError&) {
    // Code for any operands serves aligned ones too.
    auto general = stored(request_for({traits.macros, /*aligned=*/false}));
    if (!traits.aligned || !general) throw;
    return std::move(general->cubin);
  }
}

StoredCubin KernelSelector::compile(const CompileRequest& request) {
  const std::lock_guard lock(compiler_mutex_);
  if (!compiler_) compiler_ = make_service(device_);
  const auto compiler =
      std::get<DescribeCompilerReply>(compiler_->handle(DescribeCompilerRequest{}));
  if (compiler.build.empty()) {
    throw EnvironmentError("the kernel is not in the cubin store, and " + compiler.problem);
  }
  CompileRequest targeted = request;
  targeted.options.front() = architecture_option(*built_in_kernels().find(request.name),
                                                 compile_target(device_, compiler.architectures));
  auto reply = std::get<CompileReply>(compiler_->handle(targeted));
  if (!reply.ok) {
    throw Error(fmt::format("{} does not compile: {}", request.name,
                            reply.log.substr(0, reply.log.find('\n'))));
  }
  return {std::move(reply.cubin), std::move(reply.log), reply.resources};
}

}  // namespace autotune
