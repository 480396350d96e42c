// Which configuration a command means: the one that is spelled out, or the best known.
#pragma once

#include <string>

#include "api/lookup.hpp"
#include "kernel_templates/kernel_template.hpp"

namespace autotune {

struct ConfigurationChoice {
  std::string template_name;  // empty: the one that has the parameters, else gemm_tiled
  std::string configuration;  // "TILE_WIDTH=16,..."; empty: the best known
};

struct ChosenConfiguration {
  const KernelTemplate* kernel = nullptr;
  Configuration configuration;
  std::string origin;  // "given", why it is the best known, or "default"
};

// Throws UsageError for what is wrong in the choice itself, without asking a device.
void check_choice(const ConfigurationChoice& choice);

// Parameters that a spelled-out configuration leaves out are as in the template's default for the
// problem, as far as the space's rules allow that. Without one: the best known for the device, else
// the template's default.
[[nodiscard]] ChosenConfiguration choose_configuration(const ConfigurationChoice& choice,
                                                       const GemmProblem& problem,
                                                       const TuningDatabase* database,
                                                       const DeviceQuery& device);

}  // namespace autotune
