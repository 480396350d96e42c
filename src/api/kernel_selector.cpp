#include "api/kernel_selector.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "api/bundled_kernels.hpp"
#include "api/gemm_call.hpp"
#include "operation/gemm/gemm.hpp"
#include "select/choice.hpp"
#include "select/lookup.hpp"

namespace autotune {
namespace {

// Returns whether a device launches a kernel, and its workspace is a small part of the memory.
bool is_modest(const KernelTemplate& kernel, const Configuration& configuration,
               const Problem& problem, Placement placement, const DeviceInfo& device) {
  constexpr std::int64_t kShare = 8;
  const LaunchGeometry geometry =
      kernel.geometry(configuration, problem).on_device(device.sm_count);
  if (!geometry.is_launchable()) return false;
  const std::int64_t bytes = geometry.workspace_bytes();
  if (bytes == 0 || placement == Placement::frugal) return bytes == 0;
  return device.memory_bytes == 0 ||
         bytes <= static_cast<std::int64_t>(device.memory_bytes) / kShare;
}

bool can_serve(const KernelTemplate& kernel, const Configuration& configuration,
               const Problem& problem, Placement placement, const DeviceInfo& device) {
  return (!kernel.needs_alignment || placement == Placement::aligned) &&
         fits_device(kernel, configuration, device) &&
         is_modest(kernel, configuration, problem, placement, device);
}

KernelChoice kernel_choice(Choice choice) {
  const GemmProblem problem = gemm_problem(choice.problem);
  KernelChoice result{choice.kernel, {}, problem, "", false};
  result.best = {
      choice.match(), choice.explanation(), choice.kernel->name, std::move(choice.configuration),
      problem,        std::nullopt};
  // A configuration that won for another shape is the nearest size's, whatever else speaks for it.
  const Prediction* const predicted = choice.predicted();
  const Winner* const winner =
      predicted != nullptr ? predicted->winner.get() : &choice.stored()->winner;
  if (winner == nullptr) return result;
  result.is_confirmed = predicted == nullptr && winner->confirmed;
  result.best.tuned_for = gemm_problem(winner->problem);
  result.best.median_us = winner->median_us;
  if (predicted == nullptr) result.best.baseline = winner->baseline;
  result.compiler_build = winner->environment.nvrtc_build;
  return result;
}

Untuned untuned(const KernelChoice& choice, const GemmProblem& problem, const DeviceInfo& device) {
  Untuned product{
      .device = device,
      .problem = problem,
      .in_use = {},
      .is_stale = choice.best.match == MatchKind::exact_stale && choice.problem == problem};
  product.in_use.problem = problem;
  product.in_use.template_name = choice.kernel->name;
  product.in_use.space_version = choice.kernel->space_version;
  product.in_use.configuration = choice.best.configuration;
  product.in_use.median_us = choice.best.median_us.value_or(0);
  return product;
}

bool is_measured(const KernelChoice& choice) {
  return choice.best.match == MatchKind::exact || choice.best.match == MatchKind::exact_stale;
}

// Returns whether a search for the problem itself has found the choice, and not one for a stricter
// math.
bool is_tuned(const KernelChoice& choice, const GemmProblem& problem) {
  return is_measured(choice) && choice.problem == problem;
}

KernelChoice default_choice(const KernelSet& set, const DeviceInfo& device,
                            const GemmProblem& problem, Placement placement) {
  std::vector<const KernelTemplate*> kernels = set.for_device(device);
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
            problem,
            ""};
  }
  throw EnvironmentError(
      fmt::format("no kernel here computes {} on {}", to_string(problem), device.label));
}

}  // namespace

KernelSelector::KernelSelector(DeviceInfo device, SelectorSetup setup)
    : device_(std::move(device)), setup_(std::move(setup)) {
  if (setup_.cubins != nullptr) images_.emplace(device_, setup_.log, *setup_.cubins, setup_.miss);
}

DeviceQuery KernelSelector::results_of() const {
  if (setup_.results_of) return *setup_.results_of;
  return {.kernels = kernels(),
          .device_class = device_.device_class(),
          .label = "",
          .environment = Environment{.driver = device_.driver_text()},
          .use_shipped = setup_.use_shipped_winners};
}

void KernelSelector::read_results(const std::function<void(const ResultReader&)>& read) const {
  const std::string problem = setup_.results->read(read);
  if (!problem.empty()) setup_.log.warning("stored results are left out: {}", problem);
}

std::optional<KernelChoice> KernelSelector::best_choice(const GemmProblem& problem,
                                                        Placement placement,
                                                        std::optional<double> max_error) const {
  ChoiceQuery query{.problem = problem, .device = results_of(), .portfolios = setup_.portfolios};
  query.device.max_error = max_error;
  query.limits = setup_.results_of ? predicted_device(setup_.results_of->device_class)
                                   : predicted_device(device_);
  query.aligned =
      placement == Placement::aligned && unpadded_traits(gemm_operation(), problem).aligned;
  query.serves = [&](const KernelTemplate& kernel, const Configuration& configuration,
                     const Problem& computed) {
    return can_serve(kernel, configuration, computed, placement, device_);
  };
  query.most = 1;
  std::optional<KernelChoice> best;
  read_results([&](const ResultReader& results) {
    query.database = &results;
    std::vector<Choice> known = choices(query);
    best.reset();
    if (!known.empty()) best = kernel_choice(std::move(known.front()));
  });
  return best;
}

BestConfiguration KernelSelector::fastest_within(double max_error,
                                                 const GemmProblem& problem) const {
  if (setup_.bundle == nullptr) {
    if (auto choice = best_choice(problem, Placement::aligned, max_error)) return choice->best;
  }
  throw NotTunedError(fmt::format("nothing with an error of at most {} is known for {} on {}",
                                  max_error, to_string(problem), device_.label));
}

KernelChoice KernelSelector::predict(const GemmProblem& problem, Placement placement) const {
  if (setup_.bundle != nullptr) {
    return setup_.bundle->choose(
        device_, problem, placement,
        [&](const KernelTemplate& kernel, const Configuration& configuration,
            const GemmProblem& computed) {
          return can_serve(kernel, configuration, computed, placement, device_);
        });
  }
  auto known = best_choice(problem, placement, /*max_error=*/std::nullopt);
  return known ? std::move(*known) : default_choice(kernels(), device_, problem, placement);
}

void KernelSelector::tune_if_missed(const GemmProblem& problem, Placement placement) const {
  if (setup_.miss != MissPolicy::tune) return;
  bool was_tuned = false;
  read_results([&](const ResultReader& results) {
    was_tuned =
        find_best(&results, results_of(), problem, /*exact_only=*/true, [&](const Winner& winner) {
          return can_serve(*kernels().find(winner.template_name), winner.configuration, problem,
                           placement, device_);
        }).has_value();
  });
  if (!was_tuned) setup_.tune(device_, problem);
}

KernelChoice KernelSelector::choose(const GemmProblem& problem, Placement placement) const {
  KernelChoice choice = predict(problem, placement);
  if (!is_measured(choice) && setup_.miss == MissPolicy::refuse) {
    throw NotTunedError(fmt::format("{} was not tuned for {}", to_string(problem), device_.label));
  }
  setup_.log.info("{} on {}: {}, {} {}: {}", to_string(problem), device_.label,
                  to_string(choice.best.match), choice.kernel->name,
                  to_string(choice.best.configuration), choice.best.explanation);
  const bool is_final =
      is_tuned(choice, problem) && choice.best.match == MatchKind::exact && choice.is_confirmed;
  if (setup_.miss == MissPolicy::background && !is_final) {
    setup_.in_background(untuned(choice, problem, device_));
  }
  return choice;
}

std::string KernelSelector::image(const KernelChoice& choice, const CodeTraits& traits) {
  if (setup_.bundle != nullptr) return setup_.bundle->image(device_, choice, traits);
  return images_->image(*choice.kernel, choice.best.configuration, traits, choice.compiler_build);
}

}  // namespace autotune
