#include "gpu/gpu.hpp"

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "gpu/device.hpp"
#include "gpu/driver.hpp"
#include "gpu/nvml.hpp"
#include "gpu/nvrtc.hpp"

namespace autotune {

DriverReport inspect_driver() {
  DriverReport report;
  try {
    const std::shared_ptr<const gpu::Driver> driver = gpu::Driver::open();
    report.library_path = driver->path();
    report.cuda_version = driver->cuda_version();
    for (int ordinal = 0; ordinal < driver->device_count(); ++ordinal) {
      report.devices.push_back(gpu::read_device(*driver, ordinal));
    }
    if (!report.devices.empty()) report.release = report.devices.front().driver_release;
    report.usable = !report.devices.empty();
    if (!report.usable) throw gpu::NoGpuError("the NVIDIA driver is here, but it sees no GPU");
  } catch (const gpu::NoGpuError& error) {
    report.no_gpu = true;
    report.problem = error.what();
  } catch (const Error& error) {
    report.problem = error.what();
  }
  return report;
}

std::string busy_warning(const GpuLoad& load) {
  // Bits of nvmlClocksEventReasons: power cap, hardware slowdown, heat, power brake.
  constexpr std::uint64_t kHeldBack = 0x4 | 0x8 | 0x20 | 0x40 | 0x80;
  constexpr int kBusyPercent = 10;
  if (load.utilization_percent >= kBusyPercent) {
    return fmt::format("other programs keep the GPU busy ({} %): times may come out too long",
                       load.utilization_percent);
  }
  if ((load.throttle_reasons & kHeldBack) != 0) {
    return "the GPU's clocks are held back by power or heat: times may come out too long";
  }
  return "";
}

std::optional<GpuLoad> inspect_load(const DeviceInfo& device) {
  const std::optional<gpu::Nvml> nvml = gpu::Nvml::open(device.uuid);
  if (!nvml) return std::nullopt;
  return GpuLoad{.utilization_percent = nvml->utilization_percent(),
                 .throttle_reasons = nvml->throttle_reasons()};
}

GpuState inspect_state(const DeviceInfo& device) {
  const std::optional<gpu::Nvml> nvml = gpu::Nvml::open(device.uuid);
  if (!nvml) return {};
  const int clock_mhz = nvml->sm_clock_mhz();
  return {.sm_clock_mhz = clock_mhz > 0 ? std::optional(clock_mhz) : std::nullopt,
          .max_sm_clock_mhz = nvml->max_sm_clock_mhz(),
          .power_milliwatts = nvml->figure("nvmlDeviceGetPowerUsage"),
          .power_limit_milliwatts = nvml->figure("nvmlDeviceGetEnforcedPowerLimit"),
          .persistence = nvml->figure("nvmlDeviceGetPersistenceMode"),
          .processes = nvml->compute_processes()};
}

NvrtcReport inspect_nvrtc() {
  NvrtcReport report;
  try {
    const std::shared_ptr<const gpu::Nvrtc> nvrtc = gpu::Nvrtc::open();
    report.usable = true;
    report.library_path = nvrtc->path();
    report.major = nvrtc->major();
    report.minor = nvrtc->minor();
    report.build = nvrtc->build();
    report.architectures = nvrtc->architectures();
  } catch (const Error& error) {
    report.problem = error.what();
  }
  return report;
}

}  // namespace autotune
