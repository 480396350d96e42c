// The GPU that the device tests run on.
#pragma once

#include <memory>
#include <optional>

#include "core/device_info.hpp"
#include "gpu/context.hpp"
#include "gpu/nvrtc.hpp"

namespace autotune {

struct Gpu {
  std::shared_ptr<const gpu::Nvrtc> nvrtc;
  std::shared_ptr<const gpu::Driver> driver;
  DeviceInfo device;
  std::string target;  // what kernels are compiled for
};

// Device 0; without one, or without a compiler for it, nullopt and a line that says so.
[[nodiscard]] std::optional<Gpu> open_gpu();

}  // namespace autotune
