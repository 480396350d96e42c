// The text of --version.
#pragma once

#include <string>

namespace autotune {

// The versions of the program, SQLite and, where found, NVRTC and the driver; a line each.
[[nodiscard]] std::string version_text();
// The same as a JSON document.
[[nodiscard]] std::string version_json();

}  // namespace autotune
