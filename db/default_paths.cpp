#include "db/default_paths.hpp"

#include <cstdlib>

#include "autotune/error.hpp"

namespace autotune {
namespace {

namespace fs = std::filesystem;

// A program that runs with more rights than its caller, as one with the setuid bit, heeds none.
std::optional<fs::path> from_environment(const char* name) {
  const char* value = ::secure_getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return fs::path(value);
}

// The XDG specification has relative paths ignored: they would be of the current folder.
std::optional<fs::path> folder_from_environment(const char* name) {
  const auto folder = from_environment(name);
  return folder && folder->is_absolute() ? folder : std::nullopt;
}

}  // namespace

std::optional<fs::path> database_of_environment() {
  return from_environment("AUTOTUNE_DB");
}

bool lacks_folder(const fs::path& file) {
  std::error_code error;
  return !file.parent_path().empty() && !fs::exists(file.parent_path(), error) && !error;
}

void check_folder_of_environment(const fs::path& file) {
  if (!lacks_folder(file)) return;
  throw StorageError(file.string() +
                     ": its folder does not exist: make it, or name another file in AUTOTUNE_DB");
}

fs::path default_database_path() {
  if (const auto chosen = database_of_environment()) return *chosen;
  if (const auto data = folder_from_environment("XDG_DATA_HOME")) {
    return *data / "autotune" / "autotune.db";
  }
  if (const auto home = folder_from_environment("HOME")) {
    return *home / ".local" / "share" / "autotune" / "autotune.db";
  }
  throw StorageError("no place for the database: set AUTOTUNE_DB, XDG_DATA_HOME or HOME");
}

std::optional<fs::path> default_cubin_store_path() {
  if (const auto cache = folder_from_environment("XDG_CACHE_HOME")) {
    return *cache / "autotune" / "cubins.db";
  }
  if (const auto home = folder_from_environment("HOME")) {
    return *home / ".cache" / "autotune" / "cubins.db";
  }
  return std::nullopt;
}

}  // namespace autotune
