#include "core/posix/host_resources.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <thread>

#include <sched.h>

namespace autotune {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

// Reads a file with one number; "max" and anything else that is not a number of bytes means no
// limit.
std::int64_t number_in(const fs::path& path) {
  std::int64_t value = 0;
  return std::ifstream(path) >> value && value >= 0 ? value : kUnlimited;
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

// The files of a control group by the version of its hierarchy.
struct GroupFiles {
  const char* most;
  const char* used;
  const char* active;  // files in memory, in memory.stat; of the groups within it, too
  const char* inactive;
};
constexpr GroupFiles kFiles = {"memory.max", "memory.current", "active_file", "inactive_file"};
constexpr GroupFiles kFilesOfVersion1 = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                                         "total_active_file", "total_inactive_file"};

// The memory that a control group has left. The system counts cached pages of files as used, but
// gives them up when memory is needed, so they are added here.
std::int64_t available_in(const fs::path& group, const GroupFiles& files) {
  const std::int64_t most = number_in(group / files.most);
  const std::int64_t used = number_in(group / files.used);
  if (most == kUnlimited || used == kUnlimited) return most;
  std::ifstream file(group / "memory.stat");
  std::string name;
  std::int64_t value = 0;
  std::int64_t of_files = 0;
  while (file >> name >> value) {
    if (name == files.active || name == files.inactive) of_files += value;
  }
  return std::max<std::int64_t>(most - used + of_files, 0);
}
std::int64_t memory_in(const fs::path& group) {
  return std::min(available_in(group, kFiles), available_in(group, kFilesOfVersion1));
}

// The number of cores that a control group's quota of processor time amounts to.
std::int64_t cores_in(const fs::path& group) {
  std::ifstream file(group / "cpu.max");
  std::int64_t quota = 0;
  std::int64_t period = 0;
  if (!(file >> quota >> period)) {  // "max 100000", or no file
    quota = number_in(group / "cpu.cfs_quota_us");
    period = number_in(group / "cpu.cfs_period_us");
  }
  if (quota == kUnlimited || period == kUnlimited || period <= 0) return kUnlimited;
  return (quota + period - 1) / period;
}

// The folder of the hierarchy that a line of /proc/self/cgroup is about, "0::/jobs/7" or
// "4:cpu,cpuacct:/jobs/7", if it has this controller. Version 1 has a hierarchy for each.
std::optional<fs::path> hierarchy_of(const std::string& line, const std::string& controller) {
  if (line.starts_with("0::/")) return fs::path();
  const std::size_t begin = line.find(':') + 1;
  const std::size_t end = line.find(":/", begin);
  if (begin == 0 || end == std::string::npos) return std::nullopt;
  const std::string names = "," + line.substr(begin, end - begin) + ",";
  if (names.find("," + controller + ",") == std::string::npos) return std::nullopt;
  return controller;
}

// The least limit of the groups that this process is in, since the limit of each group also holds
// for the groups within it. A container may see its own group as the root.
std::int64_t least_of_groups(const fs::path& root, const std::string& controller,
                             std::int64_t (*limit)(const fs::path&)) {
  std::int64_t least = kUnlimited;
  std::ifstream file(root / "proc/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {
    const std::optional<fs::path> hierarchy = hierarchy_of(line, controller);
    if (!hierarchy) continue;
    const fs::path groups = root / "sys/fs/cgroup" / *hierarchy;
    for (fs::path group = line.substr(line.find(":/") + 2);; group = group.parent_path()) {
      least = std::min(least, limit(groups / group));
      if (group.empty()) break;
    }
  }
  return least;
}

}  // namespace

std::int64_t available_memory_bytes(const fs::path& root) {
  return std::min(available_on_machine(root), least_of_groups(root, "memory", memory_in));
}

int usable_cores(const fs::path& root) {
  std::int64_t cores = std::max(1U, std::thread::hardware_concurrency());
  cpu_set_t own;
  if (sched_getaffinity(0, sizeof own, &own) == 0) {
    cores = std::min<std::int64_t>(cores, CPU_COUNT(&own));
  }
  return static_cast<int>(
      std::max<std::int64_t>(1, std::min(cores, least_of_groups(root, "cpu", cores_in))));
}

int compile_jobs_for(int cores, std::int64_t memory_bytes) {
  const std::int64_t with_memory = memory_bytes / kCompileMemoryBytes;
  return static_cast<int>(
      std::max<std::int64_t>(1, std::min<std::int64_t>(cores - 2, with_memory)));
}

}  // namespace autotune
