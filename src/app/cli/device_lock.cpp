#include "cli/device_lock.hpp"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

namespace autotune {
namespace {

constexpr std::chrono::milliseconds kBetweenTries{50};

// Opens an existing file without O_CREAT: with it the kernel refuses a file of another user in a
// folder that all may write to.
FileDescriptor open_lock_file(const std::string& uuid) {
  std::error_code error;
  const auto folder = std::filesystem::temp_directory_path(error);
  if (error) return {};
  const std::string path = folder / fmt::format("autotune-{}.lock", uuid);
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC;
  const int existing = ::open(path.c_str(), kFlags);
  return FileDescriptor(existing >= 0 ? existing : ::open(path.c_str(), kFlags | O_CREAT, 0644));
}

}  // namespace

DeviceLock::DeviceLock(const std::string& uuid, const std::function<void()>& on_wait,
                       const std::stop_token& stop)
    : file_(open_lock_file(uuid)) {
  if (file_.get() < 0) return;
  const auto take = [this] { return held_ = ::flock(file_.get(), LOCK_EX | LOCK_NB) == 0; };
  if (take()) return;
  on_wait();
  while (!take() && !stop.stop_requested()) std::this_thread::sleep_for(kBetweenTries);
}

std::optional<DeviceLock> lock_device(const DeviceInfo& device, const std::stop_token& stop) {
  if (device.is_cpu()) return std::nullopt;
  const auto on_wait = [&] {
    const std::string line =
        fmt::format("autotune: waiting for another run that times kernels on GPU {} ({})\n",
                    device.ordinal, device.label);
    std::fputs(line.c_str(), stderr);  // whether anybody can read it or not
  };
  return std::optional<DeviceLock>(std::in_place, device.uuid, on_wait, stop);
}

}  // namespace autotune
