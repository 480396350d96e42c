#include "gpu/nvml.hpp"

#include <array>
#include <utility>

namespace autotune::gpu {
namespace {

constexpr unsigned kSmClock = 1;        // NVML_CLOCK_SM
constexpr std::size_t kTextBytes = 96;  // NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE is 80

}  // namespace

std::optional<Nvml> Nvml::open(const std::string& device_uuid) {
  std::optional<SharedLibrary> library = SharedLibrary::open("libnvidia-ml.so.1");
  if (!library) return std::nullopt;
  Nvml nvml(std::move(*library));
  Api api;
  const SharedLibrary& loaded = *nvml.library_;
  api.init = loaded.function<decltype(api.init)>("nvmlInit_v2");
  api.shutdown = loaded.function<decltype(api.shutdown)>("nvmlShutdown");
  api.device_by_uuid = loaded.function<decltype(api.device_by_uuid)>("nvmlDeviceGetHandleByUUID");
  api.clock_info = loaded.function<decltype(api.clock_info)>("nvmlDeviceGetClockInfo");
  api.clocks_event_reasons =
      loaded.function<decltype(api.clocks_event_reasons)>("nvmlDeviceGetCurrentClocksEventReasons");
  if (api.clocks_event_reasons == nullptr) {  // it had another name before CUDA 12.2
    api.clocks_event_reasons = loaded.function<decltype(api.clocks_event_reasons)>(
        "nvmlDeviceGetCurrentClocksThrottleReasons");
  }
  api.utilization = loaded.function<decltype(api.utilization)>("nvmlDeviceGetUtilizationRates");
  api.driver_version = loaded.function<decltype(api.driver_version)>("nvmlSystemGetDriverVersion");
  if (!api.init || !api.shutdown || !api.device_by_uuid || !api.clock_info) return std::nullopt;
  if (api.init() != 0) return std::nullopt;
  nvml.api_ = api;  // from here on the destructor shuts it down
  if (api.device_by_uuid(device_uuid.c_str(), &nvml.device_) != 0) return std::nullopt;
  return nvml;
}

Nvml::Nvml(Nvml&& other) noexcept
    : library_(std::move(other.library_)),
      api_(std::exchange(other.api_, {})),
      device_(other.device_) {}

Nvml::~Nvml() {
  if (api_.shutdown != nullptr) api_.shutdown();
}

int Nvml::sm_clock_mhz() const {
  unsigned megahertz = 0;
  return api_.clock_info(device_, kSmClock, &megahertz) == 0 ? static_cast<int>(megahertz) : 0;
}

std::optional<int> Nvml::max_sm_clock_mhz() const {
  const auto read = library_->function<decltype(Api::clock_info)>("nvmlDeviceGetMaxClockInfo");
  unsigned megahertz = 0;
  if (read == nullptr || read(device_, kSmClock, &megahertz) != 0) return std::nullopt;
  return static_cast<int>(megahertz);
}

std::optional<int> Nvml::figure(const char* function) const {
  const auto read = library_->function<int (*)(Device, unsigned*)>(function);
  unsigned value = 0;
  if (read == nullptr || read(device_, &value) != 0) return std::nullopt;
  return static_cast<int>(value);
}

std::optional<int> Nvml::compute_processes() const {
  constexpr int kInsufficientSize = 7;  // NVML_ERROR_INSUFFICIENT_SIZE: there are processes
  const auto read = library_->function<int (*)(Device, unsigned*, void*)>(
      "nvmlDeviceGetComputeRunningProcesses_v3");
  unsigned count = 0;
  if (read == nullptr) return std::nullopt;
  const int status = read(device_, &count, nullptr);
  if (status != 0 && status != kInsufficientSize) return std::nullopt;
  return static_cast<int>(count);
}

std::uint64_t Nvml::throttle_reasons() const {
  unsigned long long reasons = 0;
  const auto read = api_.clocks_event_reasons;
  return read != nullptr && read(device_, &reasons) == 0 ? reasons : 0;
}

int Nvml::utilization_percent() const {
  Utilization utilization{};
  const auto read = api_.utilization;
  return read != nullptr && read(device_, &utilization) == 0
             ? static_cast<int>(utilization.gpu_percent)
             : 0;
}

std::string Nvml::driver_release() const {
  std::array<char, kTextBytes> text{};
  const auto read = api_.driver_version;
  return read != nullptr && read(text.data(), kTextBytes - 1) == 0 ? text.data() : "";
}

}  // namespace autotune::gpu
