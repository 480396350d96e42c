// Which architecture kernels are compiled for.
#pragma once

#include <string>
#include <vector>

#include "core/device_info.hpp"

namespace autotune {

// The target that a compiler of these architectures should build for: the device's own, or PTX of
// the newest one below it. Throws EnvironmentError, naming what would support the device, when the
// compiler is too new for it.
[[nodiscard]] std::string compile_target(const DeviceInfo& device,
                                         const std::vector<std::string>& architectures);

}  // namespace autotune
