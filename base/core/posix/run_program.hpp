// Runs another program to its end.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace autotune {

struct ProgramResult {
  // 128 + the signal's number when a signal ended it. nullopt where the application ignores SIGCHLD
  // or waits for all children itself, so that the system no longer knows.
  std::optional<int> exit_code;
  std::string output;  // standard output and error, at most kMaxProgramOutput
};

inline constexpr std::size_t kMaxProgramOutput = std::size_t{64} * 1024;

// `arguments` begins with the program's path. `environment` has entries "NAME=value" that take
// precedence over this process's own. The program's standard input is empty and its messages are
// English. Throws EnvironmentError when the program cannot be started.
[[nodiscard]] ProgramResult run_program(const std::vector<std::string>& arguments,
                                        std::vector<std::string> environment = {});

}  // namespace autotune
