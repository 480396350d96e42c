#include "cli/output/output_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "autotune/error.hpp"

#include "cli/output/table.hpp"
#include "cli/output/terminal.hpp"
#include "core/posix/file_descriptor.hpp"
#include "core/posix/ownership.hpp"

namespace autotune {
namespace {

// Returns whether all of it was written; errno says why not.
bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// Writes a new file and gives it the name once it is whole. What is there and is no regular file (a
// link, /dev/stdout), or lies in a folder that takes no new one, is written in place.
void write_file(const std::string& path, const std::string& bytes) {
  const auto fail = [&path] {
    throw StorageError("--output: " + path + ": cannot be written: " + std::strerror(errno));
  };
  struct stat before {};
  const bool exists = ::lstat(path.c_str(), &before) == 0;
  const bool is_plain = !exists || S_ISREG(before.st_mode);
  if (exists && is_plain && ::access(path.c_str(), W_OK) != 0) fail();
  // Another user's link may lead to a file of this user's.
  if (exists && !is_plain && may_be_planted(path)) {
    throw StorageError("--output: " + path +
                       ": is not a regular file, and another user's: not used");
  }
  // A name that somebody could guess might be taken.
  const std::string beside = std::filesystem::path(path).parent_path() /
                             fmt::format(".autotune-output-{:08x}", std::random_device()());
  constexpr int kNewFile = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  constexpr mode_t kMode = 0666;  // less the umask
  if (const FileDescriptor file(is_plain ? ::open(beside.c_str(), kNewFile, kMode) : -1);
      file.get() >= 0) {
    if ((!exists || ::fchmod(file.get(), before.st_mode & 07777) == 0) &&
        write_all(file.get(), bytes) && ::rename(beside.c_str(), path.c_str()) == 0) {
      return;
    }
    const int error = errno;
    ::unlink(beside.c_str());
    errno = error;
    fail();
  }
  if (!exists) fail();
  const FileDescriptor file(
      ::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC | (is_plain ? O_NOFOLLOW : 0)));
  if (file.get() < 0 || !write_all(file.get(), bytes)) fail();
}

}  // namespace

void write_output(const std::string& path, const std::string& bytes, const std::string& what) {
  if (path.empty()) {
    if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) < bytes.size()) {
      throw std::system_error(errno, std::generic_category());
    }
    return;
  }
  write_file(path, bytes);
  if (what.empty()) return;
  say(fmt::format("wrote {} to {} ({} bytes)", what, printable(path), bytes.size()));
}

}  // namespace autotune
