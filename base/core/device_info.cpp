#include "core/device_info.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace autotune {

DeviceCapabilities DeviceInfo::capabilities() const {
  return {.exhaustive_by_default = !is_cpu()};
}

std::string DeviceInfo::architecture() const {
  if (is_cpu()) return "cpu";
  return fmt::format("sm_{}{}", compute_major, compute_minor);
}

std::string DeviceInfo::driver_text() const {
  if (is_cpu()) return "none";
  if (!driver_release.empty()) return driver_release;
  return fmt::format("CUDA {}.{}", driver_version / 1000, driver_version % 1000 / 10);
}

std::string DeviceInfo::device_class() const {
  if (is_cpu()) return fmt::format("cpu/{}/{} cores", cpu_model, sm_count);
  constexpr std::int64_t kGiB = std::int64_t{1} << 30;
  std::string text = fmt::format("{}/{}sm/l2-{}/bus-{}/mem-{}kHz/{}GiB/shared-{}", architecture(),
                                 sm_count, l2_bytes, memory_bus_bits, memory_clock_khz,
                                 (memory_bytes + kGiB / 2) / kGiB, sm.shared_per_block);
  if (mig) text += "/mig";
  if (mps) text += "/mps";
  return text;
}

DeviceClass parse_device_class(const std::string& device_class) {
  const std::size_t slash = device_class.find('/');
  DeviceClass result{.architecture = device_class.substr(0, slash)};
  if (slash == std::string::npos) return result;
  const char* const end = device_class.data() + device_class.size();
  std::from_chars(device_class.data() + slash + 1, end, result.sm_count);
  if (const std::size_t unit = device_class.find("GiB/"); unit != std::string::npos) {
    const std::size_t before = device_class.rfind('/', unit);
    std::from_chars(device_class.data() + before + 1, end, result.memory_gib);
  }
  return result;
}

bool are_alike(const DeviceClass& a, const DeviceClass& b) {
  constexpr double kMostSmRatio = 1.5;
  const auto [less, more] = std::minmax(a.sm_count, b.sm_count);
  return a.architecture == b.architecture && less > 0 && more <= kMostSmRatio * less;
}

}  // namespace autotune
