#include "api/device_choice.hpp"

#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "cpu/device.hpp"
#include "gpu/gpu.hpp"

namespace autotune {
namespace {

std::optional<int> as_ordinal(const std::string& text) {
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

}  // namespace

DeviceChoice choose_device(const std::string& option) {
  if (option == "host") return {cpu_device_info(), ""};
  const bool any = option == "auto";
  const std::optional<int> ordinal = any ? 0 : as_ordinal(option);
  if (!ordinal) {
    throw UsageError(
        fmt::format("'{}' is no device: use auto, host or a GPU's number, for example 0", option));
  }
  const DriverReport driver = inspect_driver();
  if (any && driver.no_gpu) {
    return {cpu_device_info(),
            driver.problem + ": using the host device, whose times say nothing about a GPU"};
  }
  if (!driver.usable) throw EnvironmentError(driver.problem + "; the device host needs no GPU");
  if (*ordinal >= static_cast<int>(driver.devices.size())) {
    throw EnvironmentError(
        fmt::format("there is no GPU {}: 'autotune devices' lists those here", *ordinal));
  }
  return {driver.devices[static_cast<std::size_t>(*ordinal)], ""};
}

}  // namespace autotune
