// What a library object tells its application, where that wants to hear it.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "autotune/autotune.hpp"

namespace autotune {

// Thread-safe as far as the application's function is. What that throws ends neither a call nor a
// thread.
class Log {
 public:
  explicit Log(std::function<void(LogLevel, const std::string&)> write)
      : write_(std::move(write)) {}

  template <typename... Arguments>
  void info(fmt::format_string<Arguments...> format, Arguments&&... arguments) const {
    write(LogLevel::info, format, std::forward<Arguments>(arguments)...);
  }
  template <typename... Arguments>
  void warning(fmt::format_string<Arguments...> format, Arguments&&... arguments) const {
    write(LogLevel::warning, format, std::forward<Arguments>(arguments)...);
  }

 private:
  template <typename... Arguments>
  void write(LogLevel level, fmt::format_string<Arguments...> format,
             Arguments&&... arguments) const {
    if (!write_) return;
    const std::string line = fmt::format(format, std::forward<Arguments>(arguments)...);
    try {
      write_(level, line);
    } catch (...) {
      // The line is lost.
    }
  }

  std::function<void(LogLevel, const std::string&)> write_;
};

}  // namespace autotune
