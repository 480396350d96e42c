#include "cli/configuration_choice.hpp"

#include "autotune/error.hpp"
#include "cli/space_options.hpp"

namespace autotune {
namespace {

const KernelTemplate& chosen_template(const ConfigurationChoice& choice) {
  return *SpaceOptions{.templates = choice.template_name}.chosen_templates().front();
}

Configuration completed(const KernelTemplate& kernel, const std::string& text,
                        const GemmProblem& problem) {
  Configuration configuration = kernel.default_configuration(problem);
  const Configuration given = Configuration::parse(text);
  for (const auto& [name, value] : given.entries()) configuration.set(name, value);
  return kernel.space.validated(configuration);
}

}  // namespace

void check_choice(const ConfigurationChoice& choice) {
  const KernelTemplate& kernel = chosen_template(choice);
  if (choice.configuration.empty()) return;
  static_cast<void>(completed(kernel, choice.configuration, {.m = 1024, .n = 1024, .k = 1024}));
}

ChosenConfiguration choose_configuration(const ConfigurationChoice& choice,
                                         const GemmProblem& problem,
                                         const TuningDatabase* database,
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
