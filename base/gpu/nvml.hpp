// NVML, NVIDIA's management library, if the machine has it: clocks and the reasons that lower them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gpu/shared_library.hpp"

namespace autotune::gpu {

// Thread-safe. It only reads, and changes nothing of the device.
class Nvml {
 public:
  // Returns nullopt if the library is missing or does not know the device.
  static std::optional<Nvml> open(const std::string& device_uuid);
  Nvml(Nvml&& other) noexcept;
  ~Nvml();

  // A figure that NVML does not give is 0, nullopt or an empty text.
  [[nodiscard]] int sm_clock_mhz() const;
  [[nodiscard]] std::optional<int> max_sm_clock_mhz() const;
  // The result of an NVML function whose only input is the device: "nvmlDeviceGetPowerUsage".
  [[nodiscard]] std::optional<int> figure(const char* function) const;
  // The number of processes that have a CUDA context on the device, this one included.
  [[nodiscard]] std::optional<int> compute_processes() const;
  // NVML's bits for why the clocks are not higher (nvmlClocksEventReasons).
  [[nodiscard]] std::uint64_t throttle_reasons() const;
  // The share of the last moments in which kernels of any process ran, in percent.
  [[nodiscard]] int utilization_percent() const;
  // "580.159.04".
  [[nodiscard]] std::string driver_release() const;

 private:
  using Device = void*;
  struct Utilization {  // nvmlUtilization_t
    unsigned gpu_percent;
    unsigned memory_percent;
  };
  struct Api {
    int (*init)() = nullptr;
    int (*shutdown)() = nullptr;
    int (*device_by_uuid)(const char*, Device*) = nullptr;
    int (*clock_info)(Device, unsigned, unsigned*) = nullptr;
    int (*clocks_event_reasons)(Device, unsigned long long*) = nullptr;
    int (*utilization)(Device, Utilization*) = nullptr;
    int (*driver_version)(char*, unsigned) = nullptr;
  };
  explicit Nvml(SharedLibrary library) : library_(std::move(library)) {}

  std::optional<SharedLibrary> library_;
  Api api_;
  Device device_ = nullptr;
};

}  // namespace autotune::gpu
