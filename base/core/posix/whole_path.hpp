// Paths that stay right when the program changes its folder.
#pragma once

#include <filesystem>

namespace autotune {

// Returns the path from the root on. Throws StorageError for a relative path if the current folder
// was deleted.
[[nodiscard]] std::filesystem::path whole_path(const std::filesystem::path& path);

}  // namespace autotune
