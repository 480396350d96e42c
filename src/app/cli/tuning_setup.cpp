#include "cli/tuning_setup.hpp"

#include <cstdio>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "autotune/error.hpp"

#include "api/device_choice.hpp"
#include "cpu/device.hpp"
#include "gpu/gpu.hpp"

namespace autotune {

DeviceInfo device_for(const std::string& option) {
  try {
    DeviceChoice choice = choose_device(option);
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
  throw EnvironmentError(fmt::format(
      "--device all: a result holds for one kind of GPU, and here are {} kinds: {}. Tune each with "
      "--device NUMBER",
      classes.size(), which));
}

DeviceQuery device_named(const std::string& name) {
  const std::string label = name == "host" ? cpu_device_info().label : name;
  return {.device_class = "", .label = label, .environment = {}};
}

std::string device_warning(const DeviceInfo& device) {
  if (device.mig) return "the GPU is a MIG slice: results hold for slices of this shape alone";
  if (device.mps) return "the GPU is shared through MPS: times may include other programs'";
  if (device.kernel_timeout) return "the GPU drives a display: kernels that run long are ended";
  const std::optional<GpuLoad> load = device.is_cpu() ? std::nullopt : inspect_load(device);
  return load ? busy_warning(*load) : "";
}

std::string short_name(const DeviceInfo& device) {
  if (device.is_cpu()) return device.label;
  return fmt::format("GPU {} ({})", device.ordinal, device.label);
}

std::string describe(const DeviceInfo& device) {
  if (device.is_cpu()) {
    return fmt::format("{} ({} cores; no GPU's times)", device.label, device.sm_count);
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
    if (!database) throw UsageError(fmt::format("--db: there is no file {}", explicit_path));
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
