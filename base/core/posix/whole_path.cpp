#include "core/posix/whole_path.hpp"

#include <system_error>

#include "autotune/error.hpp"

namespace autotune {

std::filesystem::path whole_path(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::path whole = std::filesystem::absolute(path, error);
  if (!error) return whole;
  throw StorageError(path.string() +
                     ": the current folder was deleted: change to another one, or "
                     "name the file by its whole path");
}

}  // namespace autotune
