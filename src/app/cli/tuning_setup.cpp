#include "cli/tuning_setup.hpp"

#include <cstdio>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "autotune/error.hpp"

#include "api/device_choice.hpp"
#include "cpu/device.hpp"
#include "db/default_paths.hpp"
#include "gpu/gpu.hpp"

namespace autotune {

DeviceInfo device_for(const std::string& option) {
  try {
    DeviceChoice choice = choose_device(option.empty() ? "auto" : option);
    if (!choice.note.empty()) fmt::print(stderr, "autotune: {}\n", choice.note);
    return std::move(choice.device);
  } catch (const UsageError& error) {
    throw UsageError(std::string("--device: ") + error.what());
  }
}

std::vector<DeviceInfo> devices_for(const std::string& option) {
  if (option != "all") return {device_for(option)};
  DriverReport driver = inspect_driver();
  if (!driver.usable) throw EnvironmentError("--device all: " + driver.problem);
  std::map<std::string, std::vector<std::string>> classes;
  for (const DeviceInfo& device : driver.devices) {
    classes[device.device_class()].push_back(short_name(device));
  }
  if (classes.size() == 1) return std::move(driver.devices);
  std::string which;
  for (const auto& [device_class, members] : classes) {
    which +=
        fmt::format("{}{}: {}", which.empty() ? "" : "; ", device_class, fmt::join(members, ", "));
  }
  throw EnvironmentError(
      fmt::format("--device all: a result holds for one kind of GPU, and this machine has {} "
                  "kinds: {}. Tune each with "
                  "--device NUMBER",
                  classes.size(), which));
}

DeviceQuery device_named(const Options& options) {
  const std::string& name = options.device;
  return {.device_class = "",
          .label = names_cpu_device(name) ? cpu_device_info().label : name,
          .environment = {},
          .use_shipped = !options.no_shipped};
}

DeviceQuery device_query(const Options& options) {
  if (!options.device.empty()) return device_named(options);
  const DeviceInfo device = device_for("auto");
  return {device.device_class(), device.label, std::nullopt, !options.no_shipped};
}

std::string known_devices(const TuningDatabase* database, bool use_shipped) {
  std::set<std::string> labels;
  for (const Match& match : list_winners(database, {.use_shipped = use_shipped})) {
    labels.insert(match.winner.device_label);
  }
  return labels.empty() ? "none" : fmt::format("{}", fmt::join(labels, ", "));
}

std::string device_warning(const DeviceInfo& device) {
  if (device.mig) return "the GPU is a MIG slice: results hold only for slices of this shape";
  if (device.mps) return "the GPU is shared through MPS: times may include other programs'";
  if (device.kernel_timeout)
    return "the GPU drives a display: the driver ends kernels that run long";
  const std::optional<GpuLoad> load = device.is_cpu() ? std::nullopt : inspect_load(device);
  return load ? busy_warning(*load) : "";
}

std::string short_name(const DeviceInfo& device) {
  if (device.is_cpu()) return device.label;
  return fmt::format("GPU {} ({})", device.ordinal, device.label);
}

std::string describe(const DeviceInfo& device) {
  if (device.is_cpu()) {
    return fmt::format("{} ({} cores; its times say nothing about a GPU)", device.label,
                       device.sm_count);
  }
  return fmt::format("{} ({}, {} SMs, {:.1f} GiB, driver {})", device.label, device.architecture(),
                     device.sm_count, static_cast<double>(device.memory_bytes) * 0x1p-30,
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
    if (!database)
      throw UsageError(fmt::format("--db: '{}' must be a database that exists", explicit_path));
    return database;
  } catch (const StorageError& error) {
    throw UsageError(std::string("--db: ") + error.what());
  }
}

TunerSetup make_setup(const std::vector<DeviceInfo>& devices, int jobs) {
  TunerSetup setup = isolated_setup(devices, own_program_path());
  if (jobs > 0) setup.compile_jobs = jobs;
  return setup;
}

}  // namespace autotune
