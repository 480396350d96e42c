#include "core/compile_target.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "autotune/error.hpp"

namespace autotune {
namespace {

int architecture_number(const std::string& architecture) {
  int number = 0;
  const std::size_t start = std::min(architecture.find('_') + 1, architecture.size());
  std::from_chars(architecture.data() + start, architecture.data() + architecture.size(), number);
  return number;
}

}  // namespace

std::string compile_target(const DeviceInfo& device,
                           const std::vector<std::string>& architectures) {
  const std::string own = device.architecture();
  if (std::find(architectures.begin(), architectures.end(), own) != architectures.end()) return own;
  const int wanted = architecture_number(own);
  int newest_below = 0;
  for (const std::string& architecture : architectures) {
    const int number = architecture_number(architecture);
    if (number <= wanted) newest_below = std::max(newest_below, number);
  }
  if (newest_below > 0) return fmt::format("compute_{}", newest_below);
  throw EnvironmentError(
      fmt::format("{} ({}) is older than what the NVRTC found supports: CUDA 12 supports sm_50 to "
                  "sm_90. Install its NVRTC and name it in AUTOTUNE_NVRTC",
                  device.label, own));
}

}  // namespace autotune
