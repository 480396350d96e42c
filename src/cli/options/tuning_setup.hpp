// The device, the workers and the databases that several commands need.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/setup.hpp"
#include "cli/options/options.hpp"
#include "core/device_info.hpp"
#include "select/lookup.hpp"

namespace autotune {

// The device that --device means, "auto" where it is empty; see choose_device(). A note goes to
// standard error.
[[nodiscard]] DeviceInfo device_for(const std::string& option);
// Returns every GPU of this machine for "all", else the one device of device_for(). Throws
// EnvironmentError when they are not of one device class.
[[nodiscard]] std::vector<DeviceInfo> devices_for(const std::string& option);
// The results that a command asks for with --device: those with that label, or with the only known
// label that has the text in it; "cpu" stands for the label of the CPU device, a number or "auto"
// for a device of this machine. `database` may be null.
[[nodiscard]] DeviceQuery device_named(const Options& options, const TuningDatabase* database);
// Like device_named(); without a name, the results of the device that "auto" chooses.
[[nodiscard]] DeviceQuery device_query(const Options& options, const TuningDatabase* database);
// The labels of all devices that something is known of, for messages: "A, B", or "none".
[[nodiscard]] std::string known_devices(const KernelSet& kernels, const TuningDatabase* database,
                                        bool use_shipped);
// Says on standard error that a command finds no trials, and returns the exit code. Throws
// UsageError for a --template (empty: none) that neither the database nor the program knows.
[[nodiscard]] int nothing_matches(const KernelSet& kernels, const std::string& template_name,
                                  const TuningDatabase& database);
// Says what disturbs measurements on the device; empty when nothing does.
[[nodiscard]] std::string device_warning(const DeviceInfo& device);
// "GPU 0 (NVIDIA H200)".
[[nodiscard]] std::string short_name(const DeviceInfo& device);
// "NVIDIA H200 (sm_90, 132 SMs, 139.8 GiB, driver 580.159.04)".
[[nodiscard]] std::string describe(const DeviceInfo& device);

// Throws UsageError where the folder of a file that an option or variable names does not exist: a
// mistyped path would else become a new folder.
void check_folder_exists(const std::string& option, const std::string& path);
// The same of the database that --db names, else of the one that $AUTOTUNE_DB names.
void check_database_folder(const std::string& explicit_path);

// Like open_results(), except that an explicit path that cannot be opened, or whose folder does not
// exist, throws UsageError.
[[nodiscard]] OpenedDatabase open_database(const std::string& explicit_path,
                                           const DatabaseWait& wait);
// Opens the database for reading; nullopt when there is no file at the default path, or, with a
// warning, one that cannot be opened. An explicit path that cannot be opened throws UsageError.
[[nodiscard]] std::optional<TuningDatabase> open_database_read_only(
    const std::string& explicit_path);

// Opens the database that an option names for reading. Throws UsageError when it cannot be opened,
// or there is none.
[[nodiscard]] TuningDatabase named_database(const std::string& option, const std::string& path);

// Returns whether there is a file where open_database() would open or make one.
[[nodiscard]] bool database_exists(const std::string& explicit_path);
// Opens the database for reading. Throws UsageError when there is none.
[[nodiscard]] TuningDatabase existing_database(const std::string& explicit_path);

// Workers that run this program again, for devices of one device class. `jobs` 0: cores - 2, at
// least 1.
[[nodiscard]] TunerSetup make_setup(const ShippedPortfolios& portfolios,
                                    const std::vector<DeviceInfo>& devices, int jobs);

}  // namespace autotune
