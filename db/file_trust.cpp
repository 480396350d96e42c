#include "db/file_trust.hpp"

#include <array>
#include <cstring>
#include <mutex>

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/posix/file_descriptor.hpp"
#include "core/posix/ownership.hpp"
#include "core/posix/whole_path.hpp"

namespace autotune {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNotOurs = "is another user's, or writable by others: not used";

// A journal ends with these bytes if its transaction also wrote to other databases. The name of a
// file that all of them share precedes the bytes.
bool names_another_file(const char* path) {
  constexpr std::array<unsigned char, 8> kEnd = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
  const FileDescriptor file(::open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  std::array<unsigned char, kEnd.size()> end{};
  const off_t at = ::lseek(file.get(), -static_cast<off_t>(end.size()), SEEK_END);
  return at >= 0 && ::pread(file.get(), end.data(), end.size(), at) == ssize_t{end.size()} &&
         end == kEnd;
}

struct GuardedFileSystem : sqlite3_vfs {
  sqlite3_vfs* system;
  std::string name;
};

int open_guarded(sqlite3_vfs* self, const char* path, sqlite3_file* file, int flags, int* opened) {
  sqlite3_vfs* const system = static_cast<GuardedFileSystem*>(self)->system;
  constexpr int kGuarded = SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL;
  if (path == nullptr || (flags & kGuarded) == 0) {
    return system->xOpen(system, path, file, flags, opened);
  }
  struct stat before {};
  struct stat after {};
  const bool existed = ::lstat(path, &before) == 0;
  file->pMethods = nullptr;
  if (existed ? reason_to_refuse_journal(path) != nullptr : (flags & SQLITE_OPEN_CREATE) == 0) {
    return SQLITE_CANTOPEN;
  }
  const int code = system->xOpen(system, path, file, flags, opened);
  if (code != SQLITE_OK) return code;
  // Another user may have replaced the file meanwhile. Its owner is not enough of a check, because
  // SQLite makes root the owner of every journal that root opens.
  if (::lstat(path, &after) != 0 || reason_to_refuse_journal(path) != nullptr ||
      (existed ? after.st_ino != before.st_ino : after.st_size != 0)) {
    file->pMethods->xClose(file);
    file->pMethods = nullptr;
    return SQLITE_CANTOPEN;
  }
  return code;
}

}  // namespace

std::string reason_not_to_trust(const fs::path& path) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) == 0 &&
      (found.st_uid != ::geteuid() || others_may_write(found))) {
    return kNotOurs;
  }
  const fs::path folder = folder_of_others(whole_path(path).parent_path());
  if (folder.empty()) return "";
  return fmt::format("other users can change the folder {}: not used", folder.string());
}

std::string reason_not_to_read(const fs::path& path) {
  for (const fs::path& each : way_to(path)) {
    if (is_shared(each) || may_be_planted(each)) {
      return fmt::format("another user may have written it ({} is theirs, or writable by them)",
                         each.string());
    }
  }
  return "";
}

const char* reason_to_refuse_journal(const char* path) noexcept {
  struct stat found {};
  if (::lstat(path, &found) != 0) return nullptr;
  if (!S_ISREG(found.st_mode)) return "is not a regular file: not used";
  if (found.st_uid != ::geteuid() || found.st_nlink != 1 || others_may_write(found)) {
    return kNotOurs;
  }
  if (names_another_file(path)) {
    return "names another file, which would be deleted: not used; unless you know why, delete "
           "this journal and its database";
  }
  return nullptr;
}

const char* guarded_file_system() {
  static std::mutex mutex;
  static GuardedFileSystem* current = nullptr;
  const std::lock_guard lock(mutex);
  sqlite3_vfs* const system = sqlite3_vfs_find(nullptr);
  if (current == nullptr || current->system != system) {
    // The object is never freed, because connections that close when the process ends still use it.
    // Its address is in its name, because a process may have two copies of this library and one
    // SQLite, which finds file systems by their names.
    current = new GuardedFileSystem{*system, system, ""};
    current->name = fmt::format("autotune-{}", fmt::ptr(current));
    current->zName = current->name.c_str();
    current->pNext = nullptr;
    current->xOpen = open_guarded;
    sqlite3_vfs_register(current, 0);
  }
  return current->zName;
}

}  // namespace autotune
