#include "kernel_templates/prior.hpp"

#include <optional>

#include "core/device_info.hpp"
#include "core/occupancy.hpp"

namespace autotune {

Prior prior_for(const KernelTemplate& kernel, const std::vector<Configuration>& configurations,
                const Problem& problem, const std::string& device_class) {
  const DeviceClass silicon = parse_device_class(device_class);
  const std::optional<SmLimits> sm = sm_limits(silicon.architecture);
  if (!sm || silicon.sm_count == 0 || !kernel.predicted_cycles) return {};
  return [&kernel, &configurations, problem, sm = *sm,
          sm_count = silicon.sm_count](std::size_t index) {
    return kernel.predicted_cycles(configurations[index], problem, sm, sm_count);
  };
}

}  // namespace autotune
