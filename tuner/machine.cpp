#include "tuner/machine.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace autotune {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

// A file with one number; "max" and everything else that is none limits nothing.
std::int64_t number_in(const fs::path& path) {
  std::int64_t value = 0;
  return std::ifstream(path) >> value ? value : kUnlimited;
}

std::int64_t available_on_machine(const fs::path& root) {
  std::ifstream file(root / "proc/meminfo");
  std::string line;
  while (std::getline(file, line)) {
    constexpr std::string_view kName = "MemAvailable:";
    if (line.rfind(kName, 0) == 0) return std::stoll(line.substr(kName.size())) * 1024;
  }
  return kUnlimited;
}

// Of a control group. Its pages of files count as used, but are given up where memory is needed.
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

}  // namespace

std::int64_t available_memory_bytes(const fs::path& root) {
  std::int64_t available = available_on_machine(root);
  const fs::path groups = root / "sys/fs/cgroup";
  std::ifstream file(root / "proc/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("0::/", 0) != 0) continue;
    // Each group's limit holds for those in it.
    for (fs::path group = line.substr(4);; group = group.parent_path()) {
      available = std::min(available, available_in(groups / group));
      if (group.empty()) break;
    }
  }
  return available;
}

int compile_jobs_for(int cores, std::int64_t memory_bytes) {
  const std::int64_t with_memory = memory_bytes / kCompileMemoryBytes;
  return static_cast<int>(
      std::max<std::int64_t>(1, std::min<std::int64_t>(cores - 2, with_memory)));
}

}  // namespace autotune
