// Makes what every use of the tuner needs: databases, and workers for a device.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/device_info.hpp"
#include "db/cubin_store.hpp"
#include "db/tuning_database.hpp"
#include "select/portfolio.hpp"
#include "tuner/run/tuner.hpp"

namespace autotune {

// The longest time that a call of an application waits for another process that has a file locked:
// less than a tenth of a second for the two files that there are.
inline constexpr std::chrono::milliseconds kCallWait(40);

struct OpenedDatabase {
  TuningDatabase database;
  std::string problem;  // why it is in memory only; empty when it is a file
};

// How long a database that another process has locked is waited for, and what is called before a
// wait that people notice.
struct DatabaseWait {
  std::chrono::milliseconds longest = TuningDatabase::kBusyTimeout;
  std::function<void()> begins;
};

// Where a user's results are. The paths are as they were given.
struct DatabasePlace {
  std::filesystem::path path;
  bool is_named = false;           // else it is the default one
  bool is_of_environment = false;  // $AUTOTUNE_DB, whose folder must exist
  std::string problem;             // why there is no default one; empty when there is
};
// The named file, or the default one for "".
[[nodiscard]] DatabasePlace database_place(const std::string& named);

// The tuning database to write to. A named file that cannot be opened throws StorageError; a
// default one is replaced by one in memory.
[[nodiscard]] OpenedDatabase open_results(const DatabasePlace& place,
                                          const DatabaseWait& wait = {});
// The same for reading; nullopt if there is no file. Throws StorageError if it cannot be read.
[[nodiscard]] std::optional<TuningDatabase> read_results(const DatabasePlace& place,
                                                         std::chrono::milliseconds longest_wait);
// The cubin store at its default path; a disabled one where there is no such path.
[[nodiscard]] CubinStore open_cubin_store();
// The same for calls of an application: see CubinStore::open_at_use().
[[nodiscard]] CubinStore cubin_store_for_calls();

// Compiles for the device and measures on it, where it is called.
[[nodiscard]] std::unique_ptr<WorkerService> make_service(const DeviceInfo& device);
// Workers in this process, or in processes of `program`, which is the program autotune; the devices
// are of one device class. As many compile as there are cores and memory for. The kernels of the
// portfolios are tuned, which outlive the setup.
[[nodiscard]] TunerSetup in_process_setup(const ShippedPortfolios& portfolios,
                                          const DeviceInfo& device);
[[nodiscard]] TunerSetup isolated_setup(const ShippedPortfolios& portfolios,
                                        const std::vector<DeviceInfo>& devices,
                                        const std::filesystem::path& program);

}  // namespace autotune
