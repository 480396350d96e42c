// Wakes one thread that waits for wake_up of several kinds.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace autotune {

// Thread-safe. What is raised while nobody waits ends the next wait at once.
class WakeUp {
 public:
  void raise() {
    {
      const std::lock_guard lock(mutex_);
      raised_ = true;
    }
    changed_.notify_one();
  }

  void wait_until(std::chrono::steady_clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, deadline, [this] { return raised_; });
    raised_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool raised_ = false;
};

}  // namespace autotune
