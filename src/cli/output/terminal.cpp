#include "cli/output/terminal.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/output/table.hpp"

namespace autotune {

std::optional<std::size_t> terminal_columns(int descriptor) {
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

std::optional<std::size_t> output_columns() {
  return terminal_columns(STDOUT_FILENO);
}

bool can_rewrite_lines() {
  const char* const name = std::getenv("TERM");
  const std::string_view terminal = name == nullptr ? "" : name;
  return ::isatty(STDERR_FILENO) != 0 && !terminal.empty() && terminal != "dumb";
}

int flush_output() {
  static int first_error = 0;
  if (std::fflush(stdout) != 0 && first_error == 0) first_error = errno;
  return first_error;
}

void say(const std::string& line) {
  const std::string text = "autotune: " + line;
  const auto columns = terminal_columns(STDERR_FILENO);
  // In one call, as the progress may be shown by another thread.
  const std::string room = can_rewrite_lines() ? "\r\033[K" : "";
  std::fputs((room + (columns ? folded(text, *columns) : text + "\n")).c_str(), stderr);
}

}  // namespace autotune
