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
#include "tuner/run/tuner.hpp"

namespace autotune {

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

// The tuning database to write to: the named file, or the default one for "". A named file that
// cannot be opened throws StorageError; a default one is replaced by one in memory.
[[nodiscard]] OpenedDatabase open_results(const std::string& named, const DatabaseWait& wait = {});
struct OpenedResults {
  std::optional<TuningDatabase> database;  // none: there is no file, or a problem
  std::string problem;                     // why a default one cannot be read; empty when it can
};

// The tuning database for reading. A named one that cannot be read throws StorageError.
[[nodiscard]] OpenedResults read_results(const std::string& named);
// The cubin store at its default path; a disabled one where there is no such path.
[[nodiscard]] CubinStore open_cubin_store();

// Compiles for the device and measures on it, where it is called.
[[nodiscard]] std::unique_ptr<WorkerService> make_service(const DeviceInfo& device);
// Workers in this process, or in processes of `program`, which is the program autotune; the devices
// are of one device class. As many compile as there are cores and memory for.
[[nodiscard]] TunerSetup in_process_setup(const DeviceInfo& device);
[[nodiscard]] TunerSetup isolated_setup(const std::vector<DeviceInfo>& devices,
                                        const std::filesystem::path& program);

}  // namespace autotune
