// Keeps other runs of this program from timing kernels on the same GPU at the same moment.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "core/posix/file_descriptor.hpp"

namespace autotune {

// Held as long as the object lives, and no longer than the process: a lock on a file in the folder
// for temporary files, one for each GPU of the machine.
class DeviceLock {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  // If another process holds the lock, calls `on_wait` once and waits until it is free, `stop` is
  // requested or the deadline has passed. `uuid` is the device's.
  DeviceLock(const std::string& uuid, const std::function<void()>& on_wait,
             const std::stop_token& stop, const std::optional<Deadline>& deadline = {});

  [[nodiscard]] bool held() const { return held_; }
  // The time that other processes held the lock.
  [[nodiscard]] Deadline::duration waited() const { return waited_; }
  // Why there is no file to lock; empty if there is one.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  FileDescriptor file_;
  bool held_ = false;
  Deadline::duration waited_{};
  std::string problem_;
};

}  // namespace autotune
