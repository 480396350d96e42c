#include "cli/locked_device.hpp"

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "cli/output/terminal.hpp"

namespace autotune {

std::optional<DeviceLock> lock_device(const DeviceInfo& device, const std::stop_token& stop,
                                      const std::optional<DeviceLock::Deadline>& deadline) {
  if (device.is_cpu()) return std::nullopt;
  const std::string name = fmt::format("GPU {} ({})", device.ordinal, device.label);
  const auto on_wait = [&] { say("waiting for another run that times kernels on " + name); };
  std::optional<DeviceLock> lock(std::in_place, device.uuid, on_wait, stop, deadline);
  if (!lock->problem().empty()) {
    say(fmt::format("warning: {} cannot be locked ({}): another run on it would disturb this one",
                    name, lock->problem()));
  } else if (!lock->held() && !stop.stop_requested()) {
    throw EnvironmentError(name + ": another run timed kernels on it for the whole budget");
  }
  return lock;
}

}  // namespace autotune
