// Keeps other runs of this program from timing kernels on the same GPU at the same moment.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "core/device_info.hpp"
#include "core/posix/file_descriptor.hpp"

namespace autotune {

// Held as long as the object lives, and no longer than the process: a lock on a file in the folder
// for temporary files, one for each GPU of the machine.
class DeviceLock {
 public:
  // If another process holds the lock, calls `on_wait` once and waits until it is free or `stop` is
  // requested. There is no lock if the file cannot be made. `uuid` is the device's.
  DeviceLock(const std::string& uuid, const std::function<void()>& on_wait,
             const std::stop_token& stop);

  [[nodiscard]] bool held() const { return held_; }

 private:
  FileDescriptor file_;
  bool held_ = false;
};

// The lock of a command that times kernels. Says on standard error that it waits. The CPU device
// has none.
[[nodiscard]] std::optional<DeviceLock> lock_device(const DeviceInfo& device,
                                                    const std::stop_token& stop = {});

}  // namespace autotune
