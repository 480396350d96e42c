#include "api/bundled_kernels.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "db/result_filter.hpp"
#include "operation/gemm/gemm.hpp"

namespace autotune {
namespace {

// The problem as a choice computes it: with the math that its kernel was chosen for.
GemmProblem computed_as(const BundledChoice& choice, const Problem& problem) {
  GemmProblem computed = gemm_problem(problem);
  computed.math = gemm_problem(choice.tuned_for).math;
  return computed;
}

// A choice as it is given to a problem, its own or another one.
KernelChoice given_choice(const KernelTemplate& kernel, const BundledChoice& choice,
                          const Problem& problem) {
  KernelChoice given{&kernel, {}, computed_as(choice, problem), ""};
  const bool own = choice.problem == problem;
  given.best.match =
      own || choice.match == MatchKind::predicted ? choice.match : MatchKind::nearest_size;
  given.best.explanation = own ? choice.explanation + "; from the bundle"
                               : fmt::format("chosen in the bundle for {}, the nearest size",
                                             kernel.operation->text(choice.problem));
  given.best.template_name = kernel.name;
  given.best.configuration = choice.configuration;
  given.best.tuned_for = gemm_problem(choice.tuned_for);
  given.best.median_us = choice.median_us;
  return given;
}

}  // namespace

std::string bundled_key(const KernelTemplate& kernel, const Configuration& configuration,
                        const CodeTraits& traits, const std::string& architecture) {
  return cubin_key(kernel.name, std::string(kernel.source),
                   compile_options(kernel, configuration, traits, architecture));
}

BundledKernels::BundledKernels(const std::string& path, const KernelSet& kernels) : bundle_(path) {
  for (const BundledChoice& choice : bundle_.choices()) {
    const KernelTemplate* const kernel = kernels.find(choice.template_name);
    if (kernel == nullptr || kernel->space_version != choice.space_version) continue;
    const Operation& operation = *kernel->operation;
    if (!operation.has(choice.problem) || !operation.has(choice.tuned_for)) continue;
    Known known{kernel, choice};
    try {
      known.choice.configuration = kernel->space.validated(choice.configuration);
    } catch (const UsageError&) {
      continue;  // of a space that has changed
    }
    known_.push_back(std::move(known));
  }
}

bool BundledKernels::is_for(const DeviceInfo& device) const {
  const BundleTarget& target = bundle_.target();
  return device.architecture() == target.architecture &&
         (target.device.empty() || same_label(device.label, target.device));
}

void BundledKernels::check_device(const DeviceInfo& device) const {
  if (is_for(device)) return;
  throw EnvironmentError(fmt::format("bundle {}: is for {}, not for {} ({})", bundle_.path(),
                                     bundle_.target().text(), device.label, device.architecture()));
}

bool BundledKernels::has_code(const Known& known, const GemmProblem& problem, bool aligned) const {
  const CodeTraits traits{code_macros(*known.kernel, computed_as(known.choice, problem)), aligned};
  return bundle_.has(bundled_key(*known.kernel, known.choice.configuration, traits,
                                 bundle_.target().architecture));
}

KernelChoice BundledKernels::choose(const DeviceInfo& device, const GemmProblem& problem,
                                    Placement placement, const Serves& serves) const {
  check_device(device);
  const Problem asked = problem;
  std::vector<std::pair<double, const Known*>> nearest;
  for (const Known& known : known_) {
    if (!same_traits(known.choice.problem, asked)) continue;
    nearest.emplace_back(known.kernel->operation->distance(asked, known.choice.problem), &known);
  }
  std::stable_sort(nearest.begin(), nearest.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [distance, known] : nearest) {
    const bool has = (placement == Placement::aligned && has_code(*known, problem, true)) ||
                     has_code(*known, problem, false);
    const GemmProblem computed = computed_as(known->choice, asked);
    if (has && computes(*known->kernel, computed) &&
        serves(*known->kernel, known->choice.configuration, computed)) {
      return given_choice(*known->kernel, known->choice, asked);
    }
  }
  throw EnvironmentError(
      fmt::format("bundle {}: has no kernel for {}", bundle_.path(), to_string(problem)));
}

std::string BundledKernels::image(const DeviceInfo& device, const KernelChoice& choice,
                                  const CodeTraits& traits) const {
  check_device(device);
  for (const CodeTraits& wanted : {traits, CodeTraits{traits.macros, /*aligned=*/false}}) {
    const std::string key = bundled_key(*choice.kernel, choice.best.configuration, wanted,
                                        bundle_.target().architecture);
    if (bundle_.has(key)) return bundle_.cubin(key);
  }
  throw EnvironmentError(
      fmt::format("bundle {}: lacks a kernel of {}", bundle_.path(), choice.kernel->name));
}

}  // namespace autotune
