// Devices of this machine: what the command line asks before anything is tuned.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/device_info.hpp"

namespace autotune {

// What `doctor` reports about the driver: either it works, or one line that says why not.
struct DriverReport {
  bool usable = false;
  std::string problem;  // "no NVIDIA driver on this machine (libcuda.so.1 not found)", ...
  std::string library_path;
  int cuda_version = 0;  // 13000
  std::string release;   // "580.159.04"
  std::vector<DeviceInfo> devices;
};

// Opens the driver, initialises it and lists its devices. Never throws for what it finds.
[[nodiscard]] DriverReport inspect_driver();

// What `doctor` reports about NVRTC.
struct NvrtcReport {
  bool usable = false;
  std::string problem;
  std::string library_path;
  int major = 0;
  int minor = 0;
  std::string build;  // "13.0.88 CL-36424714"
  std::vector<std::string> architectures;
};
[[nodiscard]] NvrtcReport inspect_nvrtc();

}  // namespace autotune
