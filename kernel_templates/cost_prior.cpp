#include "kernel_templates/cost_prior.hpp"

namespace autotune {

Prior prior_for(const KernelTemplate& kernel, const std::vector<Configuration>& configurations,
                const Problem& problem, const SmLimits& sm, int sm_count) {
  if (sm.registers_per_sm == 0 || sm_count == 0 || !kernel.cost_model) return {};
  return [&kernel, &configurations, problem, sm, sm_count](std::size_t index) {
    return predicted_cycles(kernel, configurations[index], problem, sm, sm_count);
  };
}

}  // namespace autotune
