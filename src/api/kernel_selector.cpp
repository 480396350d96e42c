#include "api/kernel_selector.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "api/bundled_kernels.hpp"
#include "api/gemm_call.hpp"
#include "api/setup.hpp"
#include "core/compile_target.hpp"
#include "kernel_templates/kernel_registry.hpp"
#include "operation/gemm/gemm.hpp"
#include "select/lookup.hpp"
#include "select/portfolio.hpp"

namespace autotune {
namespace {

// In place of a compiler's build: what gemm() used last, whatever compiled it. With it a kernel is
// found where there is no compiler to ask for its build.
constexpr const char* kAnyBuild = "any";

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
  choice.is_confirmed = winner.confirmed;
  choice.best = {match.kind,
                 std::move(match.explanation),
                 std::move(winner.template_name),
                 std::move(winner.configuration),
                 gemm_problem(winner.problem),
                 winner.median_us};
  choice.compiler_build = std::move(winner.environment.nvrtc_build);
  return choice;
}

// A configuration that won for another shape is the nearest size's, whatever else speaks for it.
KernelChoice predicted_choice(Prediction prediction, const GemmProblem& problem) {
  KernelChoice choice{prediction.kernel, {}, {}};
  choice.best = {match_kind(prediction),
                 "predicted: " + to_string(prediction),
                 prediction.kernel->name,
                 std::move(prediction.configuration),
                 problem,
                 std::nullopt};
  if (prediction.winner) {
    choice.best.tuned_for = gemm_problem(prediction.winner->problem);
    choice.best.median_us = prediction.winner->median_us;
    choice.compiler_build = prediction.winner->environment.nvrtc_build;
  }
  return choice;
}

Untuned untuned(const KernelChoice& choice, const GemmProblem& problem, const DeviceInfo& device) {
  Untuned product{.device = device,
                  .problem = problem,
                  .in_use = {},
                  .is_stale = choice.best.match == MatchKind::exact_stale};
  product.in_use.problem = problem;
  product.in_use.template_name = choice.kernel->name;
  product.in_use.space_version = choice.kernel->space_version;
  product.in_use.configuration = choice.best.configuration;
  product.in_use.median_us = choice.best.median_us.value_or(0);
  return product;
}

KernelChoice default_choice(const DeviceInfo& device, const GemmProblem& problem,
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

KernelSelector::KernelSelector(DeviceInfo device, SelectorSetup setup)
    : device_(std::move(device)), setup_(std::move(setup)) {}

DeviceQuery KernelSelector::results_of() const {
  if (setup_.results_of) return *setup_.results_of;
  return {.device_class = device_.device_class(),
          .label = "",
          .environment = Environment{.driver = device_.driver_text()},
          .use_shipped = setup_.use_shipped_winners};
}

void KernelSelector::read_results(const std::function<void(const TuningDatabase*)>& read) const {
  const std::string problem = setup_.results->read(read);
  if (!problem.empty()) setup_.log->warning("stored results are left out: {}", problem);
}

std::optional<KernelChoice> KernelSelector::find(const GemmProblem& problem, Placement placement,
                                                 bool exact_only) const {
  const DeviceQuery query = results_of();
  const auto serves = [&](const Winner& winner) {
    return can_serve(*built_in_kernels().find(winner.template_name), winner.configuration, problem,
                     placement, device_);
  };
  std::optional<KernelChoice> choice;
  read_results([&](const TuningDatabase* results) {
    if (auto match = find_best(results, query, problem, exact_only, serves)) {
      choice = stored_choice(std::move(*match));
    }
  });
  return choice;
}

BestConfiguration KernelSelector::fastest_within(double max_error,
                                                 const GemmProblem& problem) const {
  std::optional<Match> match;
  if (setup_.bundle == nullptr) {
    DeviceQuery query = results_of();
    query.max_error = max_error;
    const auto serves = [&](const Winner& winner) {
      return can_serve(*built_in_kernels().find(winner.template_name), winner.configuration,
                       gemm_problem(winner.problem), Placement::aligned, device_);
    };
    read_results([&](const TuningDatabase* results) {
      match = find_fastest(results, query, with_stricter_maths(problem), serves);
    });
  }
  if (match) return stored_choice(std::move(*match)).best;
  throw NotTunedError(fmt::format("nothing with an error of at most {} is known for {} on {}",
                                  max_error, to_string(problem), device_.label));
}

std::vector<Prediction> KernelSelector::predictions(const GemmProblem& problem,
                                                    Placement placement) const {
  const PredictedDevice device = setup_.results_of
                                     ? predicted_device(setup_.results_of->device_class)
                                     : predicted_device(device_);
  if (!device.has_model() || !setup_.use_shipped_winners) return {};
  const DeviceQuery query = results_of();
  std::vector<Winner> known;
  setup_.results->read([&](const TuningDatabase* results) {
    known =
        nearest_winners(results, query, problem, kKnownWinners, [](const Winner&) { return true; });
  });
  const bool aligned = placement == Placement::aligned &&
                       unpadded_traits(built_in_operations().at(kGemm), problem).aligned;
  return autotune::predict(
      {.problem = problem, .aligned = aligned, .device = device, .known = known},
      shipped_portfolios(problem.math));
}

KernelChoice KernelSelector::predict(const GemmProblem& problem, Placement placement) const {
  if (setup_.bundle != nullptr) {
    return setup_.bundle->choose(
        device_, problem, placement,
        [&](const KernelTemplate& kernel, const Configuration& configuration) {
          return can_serve(kernel, configuration, problem, placement, device_);
        });
  }
  auto tuned = find(problem, placement, /*exact_only=*/true);
  if (tuned && tuned->is_confirmed) return std::move(*tuned);
  for (Prediction& one : predictions(problem, placement)) {
    if (!can_serve(*one.kernel, one.configuration, problem, placement, device_)) continue;
    // A search that was cut short may have seen nothing that is as good.
    const bool is_better = !tuned || one.time_us * (1 + one.error) < *tuned->best.median_us;
    return is_better ? predicted_choice(std::move(one), problem) : std::move(*tuned);
  }
  if (tuned) return std::move(*tuned);
  // Nothing is predicted on a device that the cost model knows too little of, as the CPU device,
  // nor without the portfolios, which ship like winners.
  auto known = find(problem, placement, /*exact_only=*/false);
  return known ? std::move(*known) : default_choice(device_, problem, placement);
}

void KernelSelector::tune_if_missed(const GemmProblem& problem, Placement placement) const {
  if (setup_.miss != MissPolicy::tune || find(problem, placement, /*exact_only=*/true)) return;
  setup_.tune(device_, problem);
}

KernelChoice KernelSelector::choose(const GemmProblem& problem, Placement placement) const {
  KernelChoice choice = predict(problem, placement);
  const bool is_tuned =
      choice.best.match == MatchKind::exact || choice.best.match == MatchKind::exact_stale;
  if (!is_tuned && setup_.miss == MissPolicy::refuse) {
    throw NotTunedError(fmt::format("{} was not tuned for {}", to_string(problem), device_.label));
  }
  setup_.log->info("{} on {}: {}, {} {}: {}", to_string(problem), device_.label,
                   to_string(choice.best.match), choice.kernel->name,
                   to_string(choice.best.configuration), choice.best.explanation);
  const bool is_final = choice.best.match == MatchKind::exact && choice.is_confirmed;
  if (setup_.miss == MissPolicy::background && !is_final) {
    setup_.in_background(untuned(choice, problem, device_));
  }
  return choice;
}

std::string KernelSelector::image(const KernelChoice& choice, const CodeTraits& traits) {
  if (setup_.bundle != nullptr) return setup_.bundle->image(device_, choice, traits);
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
  auto found = stored(request);
  if (const std::string problem = store.problem(); !problem.empty()) {
    setup_.log->warning("compiled kernels: {}", problem);
  }
  if (found) return std::move(found->cubin);
  try {
    StoredCubin compiled = compile(request);
    store.put(cubin_key(kAnyBuild, request.source, request.options), compiled);
    return std::move(compiled.cubin);
  } catch (const Error& error) {
    // Code for any operands serves aligned ones too.
    const bool no_compiler =
        error.code() == ErrorCode::environment || error.code() == ErrorCode::not_tuned;
    auto general = no_compiler && traits.aligned
                       ? stored(request_for({traits.macros, /*aligned=*/false}))
                       : std::nullopt;
    if (!general) throw;
    return std::move(general->cubin);
  }
}

// Each thread that compiles has a compiler of its own, so that none waits for another's kernel.
StoredCubin KernelSelector::compile(const CompileRequest& request) {
  if (setup_.miss == MissPolicy::refuse) {
    throw NotTunedError("the kernel is not in the cubin store, and nothing may be compiled");
  }
  std::unique_ptr<WorkerService> compiler;
  {
    const std::lock_guard lock(compilers_mutex_);
    if (!idle_compilers_.empty()) {
      compiler = std::move(idle_compilers_.back());
      idle_compilers_.pop_back();
    }
  }
  if (!compiler) compiler = make_service(device_);
  const auto described =
      std::get<DescribeCompilerReply>(compiler->handle(DescribeCompilerRequest{}));
  if (described.build.empty()) {
    throw EnvironmentError("the kernel is not in the cubin store, and " + described.problem);
  }
  CompileRequest targeted = request;
  targeted.options.front() = architecture_option(*built_in_kernels().find(request.name),
                                                 compile_target(device_, described.architectures));
  auto reply = std::get<CompileReply>(compiler->handle(targeted));
  {
    const std::lock_guard lock(compilers_mutex_);
    idle_compilers_.push_back(std::move(compiler));
  }
  if (!reply.problem.empty()) throw EnvironmentError(reply.problem);
  if (!reply.ok) {
    throw Error(fmt::format("{} does not compile: {}", request.name,
                            reply.log.substr(0, reply.log.find('\n'))));
  }
  setup_.log->info("{} was compiled in {:.0f} ms", request.name, reply.resources.compile_ms);
  return {std::move(reply.cubin), std::move(reply.log), reply.resources};
}

}  // namespace autotune
