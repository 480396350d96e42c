// The properties of the CPU device: this machine's processor, in the terms of a GPU.
#pragma once

#include "core/device_info.hpp"

namespace autotune {

// Label "cpu: <CPU model>", ordinal kCpuOrdinal; the limits of a small GPU, so that portable
// templates offer the same configurations here as there.
[[nodiscard]] DeviceInfo cpu_device_info();

}  // namespace autotune
