// What a library object tells its application, where that wants to hear it.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "autotune/autotune.hpp"

namespace autotune {

// Thread-safe as far as the application's function is.
class Log {
 public:
  explicit Log(std::function<void(LogLevel, const std::string&)> write)
      : write_(std::move(write)) {}

  template <typename... Arguments>
  void info(fmt::format_string<Arguments...> format, Arguments&&... arguments) const {
    if (write_) write_(LogLevel::info, fmt::format(format, std::forward<Arguments>(arguments)...));
  }
  template <typename... Arguments>
  void warning(fmt::format_string<Arguments...> format, Arguments&&... arguments) const {
    if (write_) {
      write_(LogLevel::warning, fmt::format(format, std::forward<Arguments>(arguments)...));
    }
  }

 private:
  std::function<void(LogLevel, const std::string&)> write_;
};

}  // namespace autotune
