#include "core/posix/ownership.hpp"

#include <system_error>

#include <unistd.h>

namespace autotune {

namespace fs = std::filesystem;

bool others_may_write(const struct stat& found) {
  const bool own_group = found.st_gid == ::geteuid();
  return (found.st_mode & S_IWOTH) != 0 || ((found.st_mode & S_IWGRP) != 0 && !own_group);
}

bool is_foreign(const struct stat& found) {
  struct stat system {};  // in a user namespace the system's files do not belong to root
  ::stat("/", &system);
  return found.st_uid != ::geteuid() && found.st_uid != 0 && found.st_uid != system.st_uid;
}

bool may_be_planted(const fs::path& path) {
  struct stat found {};
  struct stat folder {};
  return ::lstat(path.c_str(), &found) == 0 && is_foreign(found) &&
         ::stat(fs::absolute(path).parent_path().c_str(), &folder) == 0 && others_may_write(folder);
}

fs::path folder_of_others(const fs::path& folder) {
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(fs::absolute(folder), error);
  for (fs::path each = error ? fs::absolute(folder) : whole;; each = each.parent_path()) {
    struct stat found {};
    const bool exists = ::lstat(each.c_str(), &found) == 0;
    const bool is_shared = others_may_write(found) && (found.st_mode & S_ISVTX) == 0;
    if (exists && (is_foreign(found) || is_shared)) return each;
    if (!each.has_relative_path()) return {};
  }
}

}  // namespace autotune
