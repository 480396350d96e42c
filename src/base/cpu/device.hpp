// What the program knows of the host device: this machine's processor, in the terms of a GPU.
#pragma once

#include "core/device_info.hpp"

namespace autotune {

// Label "host: <CPU model>", ordinal kHostOrdinal; the limits of a small GPU, so that portable
// templates offer the same configurations here as there.
[[nodiscard]] DeviceInfo host_device_info();

}  // namespace autotune
