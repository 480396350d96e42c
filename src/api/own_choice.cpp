#include "api/own_choice.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "select/predictor.hpp"

namespace autotune {

bool OwnChoice::is_measured() const {
  return choice.match == MatchKind::exact || choice.match == MatchKind::exact_stale;
}

KernelSizes sizes_of(const Problem& problem) {
  KernelSizes sizes;
  for (const auto& [name, value] : problem.sizes()) sizes[name] = value;
  return sizes;
}

bool can_run(const KernelTemplate& kernel, const Configuration& configuration,
             const Problem& problem, const DeviceInfo& device) {
  return fits_device(kernel, configuration, device) && kernel.fits(configuration, problem) &&
         kernel.geometry(configuration, problem).on_device(device.sm_count).is_launchable();
}

OwnChoice stored_choice(const KernelTemplate& kernel, const DeviceInfo& device,
                        const DeviceQuery& query, const Problem& problem,
                        const ResultSource& results, const Log& log) {
  std::optional<Match> match;
  const std::string unread = results.read([&](const ResultReader& reader) {
    match = find_best(&reader, query, problem, /*exact_only=*/false, [&](const Winner& winner) {
      return can_run(kernel, winner.configuration, problem, device);
    });
  });
  if (!unread.empty()) log.warning("stored results are left out: {}", unread);
  if (!match) {
    return {{MatchKind::predicted, "no winner is stored: the file's default",
             kernel.default_configuration(problem), sizes_of(problem), std::nullopt}};
  }
  const Winner& winner = match->winner;
  return {{match->kind, match->explanation, winner.configuration, sizes_of(winner.problem),
           winner.median_us},
          winner.environment.nvrtc_build};
}

BundledOwnKernel::BundledOwnKernel(const BundledKernels& kernels, const KernelTemplate& kernel)
    : kernels_(kernels), kernel_(kernel) {
  const Bundle& bundle = kernels.bundle();
  for (const BundledChoice& choice : bundle.choices()) {
    if (choice.template_name == kernel.name) choices_.push_back(&choice);
  }
  if (choices_.empty()) {
    throw EnvironmentError(
        fmt::format("bundle {}: has no kernel {}: autotune export --bundle FILE --kernel makes one "
                    "that does",
                    bundle.path(), kernel.name));
  }
  if (!std::ranges::all_of(choices_, [&](const auto* choice) { return is_current(*choice); })) {
    throw EnvironmentError(
        fmt::format("bundle {}: was made of another text of the kernel {}, or of another file with "
                    "a kernel of this name: export it anew",
                    bundle.path(), kernel.name));
  }
}

std::string BundledOwnKernel::key(const Configuration& configuration,
                                  const Problem& problem) const {
  return bundled_key(kernel_, configuration, code_traits(kernel_, problem),
                     kernels_.bundle().target().architecture);
}

bool BundledOwnKernel::is_current(const BundledChoice& choice) const {
  const Operation& operation = *kernel_.operation;
  if (!operation.has(choice.problem) || !operation.has(choice.tuned_for)) return false;
  try {
    return kernel_.space.validated(choice.configuration) == choice.configuration &&
           kernels_.bundle().has(key(choice.configuration, choice.problem));
  } catch (const UsageError&) {
    return false;  // of another space
  }
}

OwnChoice BundledOwnKernel::choose(const DeviceInfo& device, const Problem& problem) const {
  kernels_.check_device(device);
  const Operation& operation = *kernel_.operation;
  std::vector<const BundledChoice*> nearest = choices_;
  std::ranges::stable_sort(nearest, {}, [&](const BundledChoice* choice) {
    return operation.distance(problem, choice->problem);
  });
  for (const BundledChoice* known : nearest) {
    if (!can_run(kernel_, known->configuration, problem, device) ||
        !kernels_.bundle().has(key(known->configuration, problem))) {
      continue;
    }
    const bool is_own = known->problem == problem;
    const MatchKind match =
        is_own || known->match == MatchKind::predicted ? known->match : MatchKind::nearest_size;
    return {{match,
             is_own ? known->explanation + "; from the bundle"
                    : fmt::format("chosen in the bundle for {}, the nearest size",
                                  operation.text(known->problem)),
             known->configuration, sizes_of(known->tuned_for), known->median_us}};
  }
  throw EnvironmentError(fmt::format("bundle {}: has no kernel for {} {}", kernels_.bundle().path(),
                                     kernel_.name, operation.text(problem)));
}

std::string BundledOwnKernel::image(const Configuration& configuration,
                                    const Problem& problem) const {
  return kernels_.bundle().cubin(key(configuration, problem));
}

}  // namespace autotune
