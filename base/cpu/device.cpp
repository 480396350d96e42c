#include "cpu/device.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <string>
#include <thread>

#include <sys/utsname.h>
#include <unistd.h>

#include "autotune/error.hpp"

#include "cpu/launcher.hpp"

namespace autotune {
namespace {

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  // Results of this processor would not be found by another name.
  if (!file && (errno == EMFILE || errno == ENFILE)) {
    throw EnvironmentError("/proc/cpuinfo cannot be read: too many open files (see ulimit -n)");
  }
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  utsname machine{};  // /proc/cpuinfo does not name every processor
  return uname(&machine) == 0 ? machine.machine : "unknown";
}

}  // namespace

DeviceInfo cpu_device_info() {
  DeviceInfo device;
  device.cpu_model = cpu_model();
  device.label = "cpu: " + device.cpu_model;
  device.ordinal = kCpuOrdinal;
  device.sm_count = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  device.sm.threads_per_block = 1024;
  device.sm.threads_per_sm = 1024;
  device.shared_per_block = 48 * 1024;
  device.sm.shared_per_block = CpuLauncher::kMaxSharedBytes;
  device.memory_bytes = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  device.l2_bytes = std::max(0L, sysconf(_SC_LEVEL2_CACHE_SIZE));
  return device;
}

}  // namespace autotune
