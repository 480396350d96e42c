// Starts other programs.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace autotune {

struct SpawnOptions {
  static constexpr int kNull = -1;  // /dev/null

  // The descriptors of this process that become the program's 0, 1, 2 and so on. The program gets
  // no others.
  std::vector<int> descriptors;
  // Entries "NAME=value", which replace this process's own entries of the same names.
  std::vector<std::string> environment = {};
  // True: the program leads a process group, to which all processes that it starts belong. It
  // handles every signal by default, whatever this process does with it. SIGINT, SIGTERM and SIGHUP
  // are blocked in it, because terminals and job schedulers send them to many processes, and this
  // process decides what they mean. False: the program has no signal blocked, and can wait for its
  // own children though this process may ignore SIGCHLD.
  bool own_group = false;
};

// `arguments` begins with the program's path. Returns 0 and sets `process`, or returns the errno of
// the call that failed. Throws EnvironmentError where /dev/null cannot be opened.
[[nodiscard]] int spawn(const std::vector<std::string>& arguments, const SpawnOptions& options,
                        pid_t& process);

}  // namespace autotune
