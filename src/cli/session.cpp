#include "cli/session.hpp"

#include <charconv>

#include <fmt/format.h>

#include "autotune/error.hpp"
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

DeviceInfo device_for(const std::string& option) {
  const std::optional<int> ordinal = option == "auto" ? 0 : as_ordinal(option);
  if (!ordinal) {
    throw UsageError(
        fmt::format("--device: '{}' is neither auto nor a GPU's number, for example --device 0",
                    option));
  }
  const DriverReport driver = inspect_driver();
  if (!driver.usable) {
    throw EnvironmentError(driver.problem +
                           ": tuning needs an NVIDIA GPU; query --device NAME needs none");
  }
  if (*ordinal >= static_cast<int>(driver.devices.size())) {
    throw EnvironmentError(fmt::format("there is no GPU {}: 'autotune devices' lists those here",
                                       *ordinal));
  }
  return driver.devices[static_cast<std::size_t>(*ordinal)];
}

std::string device_warning(const DeviceInfo& device) {
  if (device.mig) return "the GPU is a MIG slice: results hold for slices of this shape alone";
  if (device.mps) return "the GPU is shared through MPS: times may include other programs'";
  if (device.kernel_timeout) return "the GPU drives a display: kernels that run long are ended";
  return "";
}

std::string describe(const DeviceInfo& device) {
  constexpr double kGiB = 1 << 30;
  return fmt::format("{} ({}, {} SMs, {:.1f} GiB, driver {})", device.label, device.architecture(),
                     device.sm_count, static_cast<double>(device.memory_bytes) / kGiB,
                     device.driver_release.empty() ? "unknown" : device.driver_release);
}

OpenedDatabase open_database(const std::string& explicit_path) {
  try {
    return open_results(explicit_path);
  } catch (const StorageError& error) {
    throw UsageError(std::string("--db: ") + error.what());
  }
}

std::optional<TuningDatabase> open_database_read_only(const std::string& explicit_path) {
  if (explicit_path.empty()) return TuningDatabase::open_read_only(default_database_path());
  try {
    std::optional<TuningDatabase> database = TuningDatabase::open_read_only(explicit_path);
    if (!database) throw UsageError(fmt::format("--db: there is no file {}", explicit_path));
    return database;
  } catch (const StorageError& error) {
    throw UsageError(std::string("--db: ") + error.what());
  }
}

TunerSetup make_setup(const DeviceInfo& device, int jobs) {
  const auto make_worker = [program = own_program_path(), ordinal = device.ordinal] {
    return make_process_worker(program, ordinal);
  };
  TunerSetup setup;
  setup.device = device;
  setup.make_compile_worker = make_worker;
  setup.make_measure_worker = make_worker;
  setup.compile_jobs = jobs > 0 ? jobs : default_compile_jobs();
  return setup;
}

}  // namespace autotune
