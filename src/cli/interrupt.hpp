// Ctrl-C, SIGTERM and the end of the terminal (SIGHUP) as a stop request.
#pragma once

#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "core/posix/file_descriptor.hpp"

namespace autotune {

// While it lives, the first of these signals asks to stop, and says what is finished first; a
// second one ends the program at once. Made before other threads, so that they leave these signals
// to it.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  [[nodiscard]] std::stop_token token() const { return source_.get_token(); }
  // Names what the program is at, for the line that the first signal prints.
  void begin_step(std::string name);

 private:
  void watch(const std::stop_token& end);
  [[nodiscard]] std::string step() const;

  std::stop_source source_;
  mutable std::mutex mutex_;  // of the step
  std::string step_ = "what is in flight";
  FileDescriptor signals_;  // a signalfd
  std::jthread thread_;
};

}  // namespace autotune
