// NVML, NVIDIA's management library, where there is one: clocks and what holds them back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gpu/shared_library.hpp"

namespace autotune::gpu {

// Reads only; nothing of the device is changed. Thread-safe.
class Nvml {
 public:
  // nullopt where the library is missing or does not know the device.
  static std::optional<Nvml> open(const std::string& device_uuid);
  Nvml(Nvml&& other) noexcept;
  ~Nvml();

  // 0 where NVML does not say.
  [[nodiscard]] int sm_clock_mhz() const;
  // NVML's bits for why the clocks are not higher (nvmlClocksEventReasons).
  [[nodiscard]] std::uint64_t throttle_reasons() const;
  // Percent of the last moments in which some process's kernels ran; 0 where NVML does not say.
  [[nodiscard]] int utilization_percent() const;
  // "580.159.04"; empty where NVML does not say.
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
