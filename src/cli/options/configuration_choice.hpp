// The configuration that a command works on: the one that is spelled out, or the best known.
#pragma once

#include <string>
#include <vector>

#include "cli/options/options.hpp"
#include "core/device_info.hpp"
#include "db/tuning_database.hpp"
#include "kernel_templates/kernel_template.hpp"
#include "select/choice.hpp"

namespace autotune {

struct ConfigurationChoice {
  const ShippedPortfolios& portfolios;     // and the kernels to choose from
  const KernelTemplate* kernel = nullptr;  // none: the one with the parameters, else gemm_tiled
  Configuration configuration;             // may lack parameters; empty: the best known
};

// The choice that --template and --config express. Throws UsageError for several templates.
[[nodiscard]] ConfigurationChoice choice_of(const Options& options);

struct ChosenConfiguration {
  const KernelTemplate* kernel = nullptr;
  Configuration configuration;
  Problem problem;        // as it is computed, maybe with a stricter math than was asked for
  std::string origin;     // "given", "default", or the reason why it is the best known
  bool is_exact = false;  // given, or tuned for the very problem
};

// Returns where the given values do not go with the default's, and what is taken instead: a line
// for each difference. Throws UsageError, which names the option, for a choice that no device could
// serve.
[[nodiscard]] std::vector<std::string> adaptations(const ConfigurationChoice& choice,
                                                   const std::vector<Problem>& problems,
                                                   const std::string& option = "--config");
// Says them on standard error.
void check_choice(const ConfigurationChoice& choice, const std::vector<Problem>& problems,
                  const std::string& option = "--config");

// Throws UsageError when devices of an architecture cannot run a template. An empty one passes.
void check_architecture(const KernelTemplate& kernel, const std::string& architecture);
// Throws UsageError when a device cannot run a configuration.
void check_device(const KernelTemplate& kernel, const Configuration& configuration,
                  const DeviceInfo& device);
// Throws UsageError when a template does not compute a problem.
void check_problem(const KernelTemplate& kernel, const Problem& problem);

// Parameters that a spelled-out configuration leaves out are as in the template's default for the
// problem, else as near to it as the space's rules allow; a loop that the default unrolls fully
// stays so. Without one: the best known for the device (see choices()), of the template if one is
// named, else the template's default.
[[nodiscard]] ChosenConfiguration choose_configuration(const ConfigurationChoice& choice,
                                                       const Problem& problem,
                                                       const TuningDatabase* database,
                                                       const DeviceQuery& device);

// The known choices for a problem on a device that need not be here, of a template if one is given.
[[nodiscard]] std::vector<Choice> known_choices(
    const ShippedPortfolios& portfolios, const Problem& problem, const TuningDatabase* database,
    const DeviceQuery& device, const KernelTemplate* kernel = nullptr, bool only_measured = false);

// The value of --config that stands for a configuration: the parameters that differ from the
// template's default for the problem, or all of them if `wide` or where the program does not have
// the template (nullptr). "default" where none differs.
[[nodiscard]] std::string configuration_text(const KernelTemplate* kernel,
                                             const Configuration& configuration,
                                             const Problem& problem, bool wide);

}  // namespace autotune
