#include "tests/device/gpu_fixture.hpp"

#include <cstdio>

#include "core/compile_target.hpp"
#include "gpu/device.hpp"

namespace autotune {

std::optional<Gpu> open_gpu() {
  try {
    Gpu gpu;
    gpu.driver = gpu::Driver::open();
    gpu.device = gpu::read_device(*gpu.driver, 0);
    gpu.nvrtc = gpu::Nvrtc::open();
    gpu.target = compile_target(gpu.device, gpu.nvrtc->architectures());
    return gpu;
  } catch (const EnvironmentError& error) {
    std::printf("SKIPPED: no GPU: %s\n", error.what());
    return std::nullopt;
  }
}

}  // namespace autotune
