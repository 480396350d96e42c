// The device of a command that times kernels, which no other run disturbs.
#pragma once

#include <optional>
#include <stop_token>

#include "core/device_info.hpp"
#include "tuner/devices/device_lock.hpp"

namespace autotune {

// The lock of a command that times kernels. Says on standard error that it waits, or that the
// device cannot be locked. The CPU device has none. Throws EnvironmentError after the deadline.
[[nodiscard]] std::optional<DeviceLock> lock_device(
    const DeviceInfo& device, const std::stop_token& stop = {},
    const std::optional<DeviceLock::Deadline>& deadline = {});

}  // namespace autotune
