#include "core/posix/ownership.hpp"

#include <algorithm>
#include <deque>
#include <system_error>
#include <utility>

#include <unistd.h>

#include "core/posix/whole_path.hpp"

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
         ::stat(whole_path(path).parent_path().c_str(), &folder) == 0 && others_may_write(folder);
}

std::vector<fs::path> way_to(const fs::path& path) {
  constexpr int kMostLinks = 40;  // the system follows no more of them
  const fs::path whole = whole_path(path);
  std::deque<fs::path> left(whole.begin(), whole.end());
  std::vector<fs::path> way;
  fs::path each;
  for (int links = 0; !left.empty() && links <= kMostLinks;) {
    const fs::path part = std::move(left.front());
    left.pop_front();
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      // Who may change a folder cannot change what is above it.
      way.erase(std::remove(way.begin(), way.end(), each), way.end());
      each = each.parent_path();
      continue;
    }
    each /= part;
    std::error_code error;
    const fs::file_status status = fs::symlink_status(each, error);
    if (!fs::exists(status)) break;
    way.push_back(each);
    if (!fs::is_symlink(status)) continue;
    ++links;
    const fs::path target = fs::read_symlink(each, error);
    left.insert(left.begin(), target.begin(), target.end());
    each = each.parent_path();
  }
  return way;
}

bool is_shared(const fs::path& folder) {
  struct stat found {};
  return ::lstat(folder.c_str(), &found) == 0 && !S_ISLNK(found.st_mode) &&
         others_may_write(found) && (found.st_mode & S_ISVTX) == 0;
}

fs::path folder_of_others(const fs::path& folder) {
  for (const fs::path& each : way_to(folder)) {
    struct stat found {};
    if (::lstat(each.c_str(), &found) == 0 && (is_foreign(found) || is_shared(each))) return each;
  }
  return {};
}

}  // namespace autotune
