// A queue that any thread posts to and one thread empties.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

namespace autotune {

// Thread-safe. Messages come out in the order in which they were posted.
template <typename Message>
class Mailbox {
 public:
  // A message that there is no memory for is lost, and every wait from then on throws
  // std::bad_alloc.
  void post(Message message) noexcept {
    {
      const std::lock_guard lock(mutex_);
      try {
        messages_.push_back(std::move(message));
      } catch (const std::bad_alloc&) {
        lost_ = true;
      }
    }
    arrived_.notify_one();
  }

  // The next message, however long it takes to arrive.
  Message wait() {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [this] { return has_arrived(); });
    return take();
  }

  // The next message; nullopt when none has arrived by the deadline.
  std::optional<Message> wait_until(std::chrono::steady_clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    if (!arrived_.wait_until(lock, deadline, [this] { return has_arrived(); })) {
      return std::nullopt;
    }
    return take();
  }

 private:
  [[nodiscard]] bool has_arrived() const { return lost_ || !messages_.empty(); }

  Message take() {
    if (lost_) throw std::bad_alloc();
    Message message = std::move(messages_.front());
    messages_.pop_front();
    return message;
  }

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Message> messages_;
  bool lost_ = false;  // a message
};

}  // namespace autotune
