#include "core/device_info.hpp"

#include <charconv>

#include <fmt/format.h>

namespace autotune {

std::string DeviceInfo::architecture() const {
  if (is_host()) return "host";
  return fmt::format("sm_{}{}", compute_major, compute_minor);
}

std::string DeviceInfo::driver_text() const {
  if (is_host()) return "none";
  if (!driver_release.empty()) return driver_release;
  return fmt::format("CUDA {}.{}", driver_version / 1000, driver_version % 1000 / 10);
}

std::string DeviceInfo::silicon_class() const {
  if (is_host()) return fmt::format("host/{}/{} cores", cpu_model, sm_count);
  constexpr std::int64_t kGiB = std::int64_t{1} << 30;
  std::string text = fmt::format("{}/{}sm/l2-{}/bus-{}/mem-{}kHz/{}GiB/shared-{}", architecture(),
                                 sm_count, l2_bytes, memory_bus_bits, memory_clock_khz,
                                 (memory_bytes + kGiB / 2) / kGiB, shared_per_block_optin);
  if (mig) text += "/mig";
  if (mps) text += "/mps";
  return text;
}

Silicon parse_silicon_class(const std::string& silicon_class) {
  const std::size_t slash = silicon_class.find('/');
  Silicon silicon{.architecture = silicon_class.substr(0, slash)};
  if (slash == std::string::npos) return silicon;
  const char* const end = silicon_class.data() + silicon_class.size();
  std::from_chars(silicon_class.data() + slash + 1, end, silicon.sm_count);
  return silicon;
}

}  // namespace autotune
