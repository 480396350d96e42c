// This file reads the messages of compilers.
#pragma once

#include <string>

namespace autotune {

// The line of a log that has the first error, else its first line. Never empty.
[[nodiscard]] std::string first_error_line(const std::string& log);

}  // namespace autotune
