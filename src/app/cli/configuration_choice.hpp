// The configuration that a command works on: the one that is spelled out, or the best known.
#pragma once

#include <string>

#include "api/lookup.hpp"
#include "cli/options.hpp"
#include "kernel_templates/kernel_template.hpp"

namespace autotune {

struct ConfigurationChoice {
  const KernelTemplate* kernel = nullptr;  // none: the one with the parameters, else gemm_tiled
  Configuration configuration;             // may lack parameters; empty: the best known
};

// The choice that --template and --config express. Throws UsageError for several templates.
[[nodiscard]] ConfigurationChoice choice_of(const Options& options);

struct ChosenConfiguration {
  const KernelTemplate* kernel = nullptr;
  Configuration configuration;
  std::string origin;  // "given", "default", or the reason why it is the best known
};

// Throws UsageError for a choice that no device could serve.
void check_choice(const ConfigurationChoice& choice);

// Parameters that a spelled-out configuration leaves out are as in the template's default for the
// problem, as far as the space's rules allow that. Without one: the best known for the device, else
// the template's default.
[[nodiscard]] ChosenConfiguration choose_configuration(const ConfigurationChoice& choice,
                                                       const GemmProblem& problem,
                                                       const TuningDatabase* database,
                                                       const DeviceQuery& device);

}  // namespace autotune
