// Ctrl-C, SIGTERM and the end of the terminal (SIGHUP) as a stop request.
#pragma once

#include <stop_token>
#include <thread>

#include "core/posix/file_descriptor.hpp"

namespace autotune {

// While it lives, the first of these signals asks to stop; a second one ends the program at once.
// Made before other threads, so that they leave these signals to it.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  [[nodiscard]] std::stop_token token() const { return source_.get_token(); }

 private:
  void watch(const std::stop_token& end);

  std::stop_source source_;
  FileDescriptor signals_;  // a signalfd
  std::jthread thread_;
};

}  // namespace autotune
