// What every use of the tuner needs: databases, and workers for a device.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/device_info.hpp"
#include "db/cubin_store.hpp"
#include "db/tuning_database.hpp"
#include "tuner/tuner.hpp"

namespace autotune {

struct OpenedDatabase {
  TuningDatabase database;
  std::string problem;  // why it is in memory only; empty when it is a file
};

// The tuning database to write to: the named file, or the default one for "". A named file that
// cannot be opened throws StorageError; a default one is replaced by one in memory.
[[nodiscard]] OpenedDatabase open_results(const std::string& named);
// For reading; nullopt when there is no file. A default one that cannot be read is as good as none.
[[nodiscard]] std::optional<TuningDatabase> read_results(const std::string& named);
// The one at its default place; a disabled one where there is none.
[[nodiscard]] CubinStore open_cubin_store();

// cores - 2, at least 1.
[[nodiscard]] int default_compile_jobs();

// Compiles for the device and measures on it, where it is called.
[[nodiscard]] std::unique_ptr<WorkerService> make_service(const DeviceInfo& device);
// Workers in this process.
[[nodiscard]] TunerSetup in_process_setup(const DeviceInfo& device);

}  // namespace autotune
