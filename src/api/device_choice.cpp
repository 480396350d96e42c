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

bool names_cpu_device(const std::string& text) {
  return text == "cpu" || text == "host";
}

DeviceChoice choose_device(const std::string& option) {
  if (names_cpu_device(option)) return {cpu_device_info(), ""};
  const bool any = option == "auto";
  const std::optional<int> ordinal = any ? 0 : as_ordinal(option);
  if (!ordinal) {
    throw UsageError(fmt::format("'{}' must be auto, cpu or the number of a GPU, e.g. 0", option));
  }
  const DriverReport driver = inspect_driver();
  if (any && driver.no_gpu) {
    return {cpu_device_info(),
            driver.problem + ": using the CPU device, whose times say nothing about a GPU"};
  }
  if (!driver.usable)
    throw EnvironmentError(driver.problem + "; the CPU device (cpu) needs no GPU");
  if (*ordinal >= static_cast<int>(driver.devices.size())) {
    throw EnvironmentError(
        fmt::format("there is no GPU {}: 'autotune devices' lists those here", *ordinal));
  }
  return {driver.devices[static_cast<std::size_t>(*ordinal)], ""};
}

}  // namespace autotune
