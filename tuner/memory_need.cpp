#include "tuner/memory_need.hpp"

#include <fmt/format.h>

#include "tuner/gpu_workspace.hpp"
#include "tuner/host_measurement.hpp"

namespace autotune {

double bytes_needed(const GemmProblem& problem, const DeviceInfo& device) {
  return device.is_host() ? HostMeasurer::bytes_needed(problem)
                          : GpuWorkspace::bytes_needed(problem);
}

std::string why_too_large(const GemmProblem& problem, const DeviceInfo& device) {
  const double needed = bytes_needed(problem, device);
  const auto available = static_cast<double>(device.memory_bytes);
  if (available == 0 || needed <= available) return "";
  return fmt::format("{} needs {:.1f} GiB of memory to be verified and timed, and {} has {:.1f}",
                     to_string(problem), needed * 0x1p-30, device.label, available * 0x1p-30);
}

}  // namespace autotune
