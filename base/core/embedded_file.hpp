// A text file compiled into the program (cmake/EmbedFiles.cmake).
#pragma once

#include <span>
#include <string_view>

namespace autotune {

struct EmbeddedFile {
  std::string_view name;  // without its folder
  std::string_view text;
};

}  // namespace autotune
