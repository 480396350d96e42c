#include "core/posix/host_resources.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <thread>

#include <sched.h>

namespace autotune {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

// Reads a file with one number; "max" and anything else that is not a number means no limit.
std::int64_t number_in(const fs::path& path) {
  std::int64_t value = 0;
  return std::ifstream(path) >> value ? value : kUnlimited;
}

std::int64_t available_on_machine(const fs::path& root) {
  std::ifstream file(root / "proc/meminfo");
  std::string line;
  while (std::getline(file, line)) {
    constexpr std::string_view kName = "MemAvailable:";
    if (line.rfind(kName, 0) != 0) continue;
    std::int64_t kib = 0;
    return std::istringstream(line.substr(kName.size())) >> kib ? kib * 1024 : kUnlimited;
  }
  return kUnlimited;
}

// The memory that a control group has left. The system counts cached pages of files as used, but
// gives them up when memory is needed, so they are added here.
std::int64_t available_in(const fs::path& group) {
  const std::int64_t most = number_in(group / "memory.max");
  const std::int64_t used = number_in(group / "memory.current");
  if (most == kUnlimited || used == kUnlimited) return most;
  std::ifstream file(group / "memory.stat");
  std::string name;
  std::int64_t value = 0;
  std::int64_t of_files = 0;
  while (file >> name >> value) {
    if (name == "inactive_file" || name == "active_file") of_files += value;
  }
  return std::max<std::int64_t>(most - used + of_files, 0);
}

// The number of cores that a control group's quota of processor time amounts to.
std::int64_t cores_in(const fs::path& group) {
  std::ifstream file(group / "cpu.max");
  std::int64_t quota = 0;
  std::int64_t period = 0;
  if (!(file >> quota >> period) || period <= 0) return kUnlimited;  // "max 100000", or no file
  return (quota + period - 1) / period;
}

// The least limit of the groups that this process is in, since the limit of each group also holds
// for the groups within it.
std::int64_t least_of_groups(const fs::path& root, std::int64_t (*limit)(const fs::path&)) {
  std::int64_t least = kUnlimited;
  const fs::path groups = root / "sys/fs/cgroup";
  std::ifstream file(root / "proc/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("0::/", 0) != 0) continue;
    for (fs::path group = line.substr(4);; group = group.parent_path()) {
      least = std::min(least, limit(groups / group));
      if (group.empty()) break;
    }
  }
  return least;
}

}  // namespace

std::int64_t available_memory_bytes(const fs::path& root) {
  return std::min(available_on_machine(root), least_of_groups(root, available_in));
}

int usable_cores(const fs::path& root) {
  std::int64_t cores = std::max(1U, std::thread::hardware_concurrency());
  cpu_set_t own;
  if (sched_getaffinity(0, sizeof own, &own) == 0) {
    cores = std::min<std::int64_t>(cores, CPU_COUNT(&own));
  }
  return static_cast<int>(
      std::max<std::int64_t>(1, std::min(cores, least_of_groups(root, cores_in))));
}

int compile_jobs_for(int cores, std::int64_t memory_bytes) {
  const std::int64_t with_memory = memory_bytes / kCompileMemoryBytes;
  return static_cast<int>(
      std::max<std::int64_t>(1, std::min<std::int64_t>(cores - 2, with_memory)));
}

}  // namespace autotune
