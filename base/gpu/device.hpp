// Reads a device's properties.
#pragma once

#include "core/device_info.hpp"
#include "gpu/driver.hpp"

namespace autotune::gpu {

// Throws DriverError, and EnvironmentError for an ordinal that does not exist.
[[nodiscard]] DeviceInfo read_device(const Driver& driver, int ordinal);

}  // namespace autotune::gpu
