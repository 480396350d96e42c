#include "cli/configuration_choice.hpp"

#include <algorithm>
#include <cstddef>

#include "autotune/error.hpp"

#include "cli/space_options.hpp"

namespace autotune {
namespace {

bool has_parameters(const KernelTemplate& kernel, const Configuration& configuration) {
  const Configuration all = kernel.default_configuration({.m = 1, .n = 1, .k = 1});
  const auto& given = configuration.entries();
  return std::all_of(given.begin(), given.end(),
                     [&](const auto& entry) { return all.contains(entry.first); });
}

// The one that is named, else the one whose parameters are.
const KernelTemplate& chosen_template(const ConfigurationChoice& choice) {
  const KernelTemplate& usual = single_template(choice.template_name);
  if (!choice.template_name.empty() || choice.configuration.empty()) return usual;
  const Configuration given = Configuration::parse(choice.configuration);
  if (has_parameters(usual, given)) return usual;
  const auto& all = kernel_templates();
  const auto other = std::find_if(all.begin(), all.end(), [&](const KernelTemplate& kernel) {
    return has_parameters(kernel, given);
  });
  return other == all.end() ? usual : *other;
}

// The valid configuration with all that is given and the most of the default.
std::optional<Configuration> nearest_valid(const KernelTemplate& kernel, const Configuration& given,
                                           const Configuration& wanted) {
  std::optional<Configuration> nearest;
  std::ptrdiff_t most = -1;
  for (const Configuration& candidate : kernel.space.enumerate().configurations) {
    const auto agrees = [&](const auto& entry) {
      return candidate.contains(entry.first) && candidate.at(entry.first) == entry.second;
    };
    const auto& must = given.entries();
    const auto& may = wanted.entries();
    if (!std::all_of(must.begin(), must.end(), agrees)) continue;
    const std::ptrdiff_t agreeing = std::count_if(may.begin(), may.end(), agrees);
    if (agreeing <= most) continue;
    most = agreeing;
    nearest = candidate;
  }
  return nearest;
}

Configuration completed(const KernelTemplate& kernel, const std::string& text,
                        const GemmProblem& problem) {
  Configuration configuration = kernel.default_configuration(problem);
  const Configuration given = Configuration::parse(text);
  for (const auto& [name, value] : given.entries()) configuration.set(name, value);
  try {
    return kernel.space.validated(configuration);
  } catch (const UsageError&) {
    if (const auto nearest = nearest_valid(kernel, given, configuration)) return *nearest;
    throw;  // what is given breaks a rule by itself
  }
}

}  // namespace

void check_choice(const ConfigurationChoice& choice) {
  const KernelTemplate& kernel = chosen_template(choice);
  if (choice.configuration.empty()) return;
  static_cast<void>(completed(kernel, choice.configuration, {.m = 1024, .n = 1024, .k = 1024}));
}

ChosenConfiguration choose_configuration(const ConfigurationChoice& choice,
                                         const GemmProblem& problem, const TuningDatabase* database,
                                         const DeviceQuery& device) {
  const KernelTemplate& kernel = chosen_template(choice);
  if (!choice.configuration.empty()) {
    return {&kernel, completed(kernel, choice.configuration, problem), "given"};
  }
  if (const std::optional<Match> match = find_best(database, device, problem, false)) {
    return {find_kernel_template(match->winner.template_name), match->winner.configuration,
            match->explanation};
  }
  return {&kernel, kernel.default_configuration(problem), "default"};
}

}  // namespace autotune
