#include "cli/output/terminal.hpp"

#include <cerrno>
#include <cstdio>

#include <sys/ioctl.h>
#include <unistd.h>

namespace autotune {

std::optional<std::size_t> terminal_columns(int descriptor) {
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

std::optional<std::size_t> output_columns() {
  return terminal_columns(STDOUT_FILENO);
}

int flush_output() {
  static int first_error = 0;
  if (std::fflush(stdout) != 0 && first_error == 0) first_error = errno;
  return first_error;
}

void say(const std::string& line) {
  std::fputs(("autotune: " + line + "\n").c_str(), stderr);
}

}  // namespace autotune
