// The devices of this machine, inspected before anything is tuned.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/device_info.hpp"

namespace autotune {

// The report of `doctor` about the driver. If it is not usable, `problem` says why in one line.
struct DriverReport {
  bool usable = false;
  bool no_gpu = false;  // unusable because there is none, not because something is broken
  std::string problem;  // "no NVIDIA driver on this machine (libcuda.so.1 was not found)", ...
  std::string library_path;
  int cuda_version = 0;  // 13000
  std::string release;   // "580.159.04"
  std::vector<DeviceInfo> devices;
};

// Opens the driver, initialises it and lists its devices. Never throws: errors are in the report.
[[nodiscard]] DriverReport inspect_driver();

// The load of a GPU before anything is measured on it.
struct GpuLoad {
  int utilization_percent = 0;         // in the last moments, by any process
  std::uint64_t throttle_reasons = 0;  // NVML's bits
};
// Returns nullopt without NVML.
[[nodiscard]] std::optional<GpuLoad> inspect_load(const DeviceInfo& device);
// Describes in one line the load that makes times doubtful; the line is empty if there is none.
[[nodiscard]] std::string busy_warning(const GpuLoad& load);

// The report of `doctor` about a GPU; figures that NVML does not give are empty.
struct GpuState {
  std::optional<int> sm_clock_mhz;
  std::optional<int> max_sm_clock_mhz;
  std::optional<int> power_milliwatts;
  std::optional<int> power_limit_milliwatts;
  std::optional<int> persistence;  // 1: the driver stays loaded while nobody uses the GPU
  std::optional<int> processes;    // with a CUDA context
};
[[nodiscard]] GpuState inspect_state(const DeviceInfo& device);

// The report of `doctor` about NVRTC.
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
