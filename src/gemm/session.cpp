#include "gemm/session.hpp"

#include <algorithm>
#include <thread>

#include "autotune/error.hpp"

#include "host/device.hpp"
#include "tuner/host_service.hpp"

namespace autotune {

OpenedDatabase open_results(const std::string& named) {
  if (!named.empty()) return {TuningDatabase::open(named), ""};
  try {
    return {TuningDatabase::open(default_database_path()), ""};
  } catch (const StorageError& error) {
    return {TuningDatabase::in_memory(), error.what()};
  }
}

std::optional<TuningDatabase> read_results(const std::string& named) {
  if (!named.empty()) return TuningDatabase::open_read_only(named);
  try {
    return TuningDatabase::open_read_only(default_database_path());
  } catch (const StorageError&) {
    return std::nullopt;
  }
}

CubinStore open_cubin_store() {
  const auto path = default_cubin_store_path();
  return path ? CubinStore::open(*path) : CubinStore::disabled();
}

int default_compile_jobs() {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()) - 2);
}

std::unique_ptr<WorkerService> make_service(const DeviceInfo& device) {
  return device.is_host() ? make_host_service() : make_gpu_service(device.ordinal);
}

TunerSetup in_process_setup(const DeviceInfo& device) {
  const auto make_worker = [device] { return make_in_process_worker(make_service(device)); };
  TunerSetup setup;
  setup.device = device;
  setup.make_compile_worker = make_worker;
  setup.measuring = {{.info = device, .make_worker = make_worker, .reserve = {}}};
  setup.compile_jobs = default_compile_jobs();
  return setup;
}

}  // namespace autotune
