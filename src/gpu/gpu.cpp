#include "gpu/gpu.hpp"

#include "autotune/error.hpp"

#include "gpu/device.hpp"
#include "gpu/driver.hpp"
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
    if (!report.usable) report.problem = "the NVIDIA driver is here, but it sees no GPU";
  } catch (const Error& error) {
    report.problem = error.what();
  }
  return report;
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
