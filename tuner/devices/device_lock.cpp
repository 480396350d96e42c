#include "tuner/devices/device_lock.hpp"

#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>
#include <variant>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/posix/temporary_folder.hpp"

namespace autotune {
namespace {

constexpr std::chrono::milliseconds kBetweenTries{50};

// Returns the opened file, or why it cannot be used. An existing file is opened without O_CREAT:
// with it the kernel refuses a file of another user in a folder that all may write to. O_NONBLOCK
// is for a pipe that somebody put there.
std::variant<FileDescriptor, std::string> open_lock_file(const std::string& path) {
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  FileDescriptor file(::open(path.c_str(), kFlags));
  if (file.get() < 0 && errno == ENOENT) {
    file = FileDescriptor(::open(path.c_str(), kFlags | O_CREAT | O_EXCL, 0644));
    if (file.get() < 0 && errno == EEXIST) file = FileDescriptor(::open(path.c_str(), kFlags));
  }
  if (file.get() < 0 && errno == ELOOP) return "is a symbolic link, which is not followed";
  struct stat found {};
  if (file.get() < 0 || ::fstat(file.get(), &found) != 0) return std::strerror(errno);
  if (!S_ISREG(found.st_mode)) return "is not a regular file";
  // Every user takes the lock, whatever the umask of the one whose run made the file.
  if (found.st_uid == ::geteuid() && found.st_nlink == 1) ::fchmod(file.get(), 0644);
  return file;
}

}  // namespace

DeviceLock::DeviceLock(const std::string& uuid, const std::function<void()>& on_wait,
                       const std::stop_token& stop, const std::optional<Deadline>& deadline) {
  std::error_code error;
  const auto folder = temporary_folder(error);
  if (error) {
    problem_ = "no folder for temporary files: " + error.message();
    return;
  }
  const std::string path = folder / fmt::format("autotune-{}.lock", uuid);
  auto opened = open_lock_file(path);
  if (const auto* why = std::get_if<std::string>(&opened)) {
    problem_ = path + ": " + *why;
    return;
  }
  file_ = std::get<FileDescriptor>(std::move(opened));
  const auto take = [this] { return held_ = ::flock(file_.get(), LOCK_EX | LOCK_NB) == 0; };
  if (take()) return;
  on_wait();
  const Deadline began = Deadline::clock::now();
  while (!take() && !stop.stop_requested() && !(deadline && Deadline::clock::now() > *deadline)) {
    std::this_thread::sleep_for(kBetweenTries);
  }
  waited_ = Deadline::clock::now() - began;
}

}  // namespace autotune
