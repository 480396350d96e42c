#include "core/posix/temporary_folder.hpp"

#include <cstdlib>

namespace autotune {

std::filesystem::path temporary_folder(std::error_code& error) {
  const char* const named = std::getenv("TMPDIR");
  std::filesystem::path folder = named != nullptr && *named != '\0' ? named : "/tmp";
  if (!std::filesystem::is_directory(folder, error) && !error) {
    error = std::make_error_code(std::errc::not_a_directory);
  }
  return folder;
}

}  // namespace autotune
