// What the program knows of the host device: this machine's processor, in the terms of a GPU.
#pragma once

#include "core/device_info.hpp"

namespace autotune {

// Label "host: <CPU model>", ordinal kHostOrdinal; the limits of a small GPU, so that portable
// templates offer the same configurations here as there.
[[nodiscard]] DeviceInfo host_device_info();

// The ordinal that selects the host device where GPUs count from 0.
inline constexpr int kHostOrdinal = -1;

}  // namespace autotune
