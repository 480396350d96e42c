// The properties of a device, as plain values, so that tests can invent devices.
#pragma once

#include <cstdint>
#include <string>

#include "core/occupancy.hpp"

namespace autotune {

// The ordinal that selects the CPU where GPUs count from 0.
inline constexpr int kCpuOrdinal = -1;

// The ways in which kinds of devices differ for the tuner.
struct DeviceCapabilities {
  bool exhaustive_by_default = true;  // trials are quick enough to search a small space to the end
};

// The properties of one device, in bytes, kHz and counts as the driver gives them; 0 means unknown.
struct DeviceInfo {
  std::string label;  // the driver's name of the device, by which people query
  std::string uuid;   // identifies the unit; never part of a key
  int ordinal = 0;    // for opening it in this process only

  int compute_major = 0;
  int compute_minor = 0;
  int sm_count = 0;
  SmLimits sm;
  std::int64_t shared_per_block = 0;  // without opting in; sm.shared_per_block with it
  std::int64_t l2_bytes = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t memory_clock_khz = 0;
  std::int64_t memory_bus_bits = 0;
  bool mig = false;
  bool mps = false;
  bool kernel_timeout = false;  // a watchdog ends long kernels
  int driver_version = 0;       // of cuDriverGetVersion: 13000 is CUDA 13.0
  std::string driver_release;   // "580.159.04" where it can be read, else empty
  std::string cpu_model;        // of the CPU as a device (base/cpu); empty for a GPU

  [[nodiscard]] bool is_cpu() const { return !cpu_model.empty(); }

  [[nodiscard]] DeviceCapabilities capabilities() const;

  // "sm_90"; "cpu" for the CPU.
  [[nodiscard]] std::string architecture() const;

  // The driver's release, "580.159.04", or else its CUDA version, "CUDA 13.0"; "none" for the CPU.
  [[nodiscard]] std::string driver_text() const;

  // The identity that tuning results are kept under: devices with the same text run the same
  // kernels at the same speed. Made of the properties of the chip, not of the name, which changes
  // with drivers and is shared by different dies.
  [[nodiscard]] std::string device_class() const;
};

// The parts of a device class that tell about its SMs and its memory; 0 or empty if absent.
struct DeviceClass {
  std::string architecture;  // "sm_90"
  int sm_count = 0;
  int memory_gib = 0;
};
[[nodiscard]] DeviceClass parse_device_class(const std::string& device_class);
// Returns whether a kernel that is fast on one of them is mostly fast on the other: the
// architecture is the same, and the numbers of SMs differ by less than half.
[[nodiscard]] bool are_alike(const DeviceClass& a, const DeviceClass& b);

// The versions that a result depends on besides the device class. When they differ, a stored result
// is stale: still an answer, but the best of its trials are timed again by the next tuning run.
struct Environment {
  std::string driver;       // "580.159.04", or the CUDA version of the driver
  std::string nvrtc_build;  // "13.0.88 CL-36424714"
  std::string tool_version;
  int measuring_protocol = 0;

  // Returns whether times can be compared. The tool's version is recorded for provenance alone: the
  // protocol number and the template's source hash cover the parts of the tool that matter.
  bool operator==(const Environment& other) const {
    return driver == other.driver && nvrtc_build == other.nvrtc_build &&
           measuring_protocol == other.measuring_protocol;
  }
};

// Rates of a device, kept so that they are measured once.
struct DeviceRates {
  double fma_gflops = 0;
  double copy_gbps = 0;
};

// Raised by hand when the way of measuring changes so that old and new times cannot be compared.
inline constexpr int kMeasuringProtocol = 1;

}  // namespace autotune
