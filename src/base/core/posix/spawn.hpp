// Starts other programs.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace autotune {

struct SpawnOptions {
  static constexpr int kNull = -1;  // /dev/null

  // This process's descriptors that become the program's 0, 1, 2 and so on. It gets no others.
  std::vector<int> descriptors;
  // "NAME=value", before this process's own, of which those of the same name are left out.
  std::vector<std::string> environment = {};
  // Every signal is handled by default, whatever this process does with it, and SIGINT is blocked:
  // Ctrl-C in a terminal reaches all its processes, and what it means is for this one to decide.
  bool own_signals = false;
};

// `arguments`: the program's path first. Gives 0 and the process, or errno of what failed.
[[nodiscard]] int spawn(const std::vector<std::string>& arguments, const SpawnOptions& options,
                        pid_t& process);

}  // namespace autotune
