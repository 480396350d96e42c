// What several commands need: the device, the workers, the databases.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/lookup.hpp"
#include "api/setup.hpp"
#include "core/device_info.hpp"

namespace autotune {

// The device that --device means; see choose_device(). A note goes to standard error.
[[nodiscard]] DeviceInfo device_for(const std::string& option);
// As device_for(), and for "all" every GPU of this machine. Throws EnvironmentError when they are
// not of one silicon class.
[[nodiscard]] std::vector<DeviceInfo> devices_for(const std::string& option);
// Whose results a device's name asks for: those of that label; "host" is the host device's.
[[nodiscard]] DeviceQuery device_named(const std::string& name);
// What stands in the way of clean measurements; empty when nothing does.
[[nodiscard]] std::string device_warning(const DeviceInfo& device);
// "GPU 0 (NVIDIA H200)".
[[nodiscard]] std::string short_name(const DeviceInfo& device);
// "NVIDIA H200 (sm_90, 132 SMs, 139.8 GiB, driver 580.159.04)".
[[nodiscard]] std::string describe(const DeviceInfo& device);

// As open_results(), but for the error: an explicit path that cannot be opened throws UsageError.
[[nodiscard]] OpenedDatabase open_database(const std::string& explicit_path);
// For reading; nullopt when there is no file. Explicit paths as above.
[[nodiscard]] std::optional<TuningDatabase> open_database_read_only(
    const std::string& explicit_path);

// Workers that run this program again, for devices of one silicon class. `jobs` 0: cores - 2, at
// least 1.
[[nodiscard]] TunerSetup make_setup(const std::vector<DeviceInfo>& devices, int jobs);

}  // namespace autotune
