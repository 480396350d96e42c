// The device that a user names.
#pragma once

#include <string>

#include "core/device_info.hpp"

namespace autotune {

struct DeviceChoice {
  DeviceInfo device;
  std::string note;  // why "auto" took the CPU device, in one line; else empty
};

// Returns whether a text names the CPU device: "cpu", or "host", its earlier name.
[[nodiscard]] bool names_cpu_device(const std::string& text);

// "cpu", a GPU's number, or "auto": GPU 0, and the CPU device on a machine without a GPU. A GPU
// that is there and cannot be used is never replaced silently. Throws EnvironmentError, in one line
// that says why and what to do, when the device is not here; UsageError for any other text.
[[nodiscard]] DeviceChoice choose_device(const std::string& option);

}  // namespace autotune
