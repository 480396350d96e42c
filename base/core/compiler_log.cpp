#include "core/compiler_log.hpp"

namespace autotune {

std::string first_error_line(const std::string& log) {
  std::size_t start = log.find("error");
  if (start == std::string::npos) start = 0;
  start = start == 0 ? 0 : log.rfind('\n', start) + 1;  // npos + 1 == 0
  const std::string line = log.substr(start, log.find('\n', start) - start);
  return line.empty() ? "the compiler gave no message" : line;
}

}  // namespace autotune
