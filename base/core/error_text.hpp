// The words of an exception, for people.
#pragma once

#include <exception>
#include <filesystem>
#include <new>
#include <system_error>

namespace autotune {

// Returns whether the exception says that no thread could be started.
[[nodiscard]] inline bool is_lack_of_threads(const std::exception& error) noexcept {
  const auto* const system = dynamic_cast<const std::system_error*>(&error);
  return system != nullptr &&
         dynamic_cast<const std::filesystem::filesystem_error*>(&error) == nullptr &&
         (system->code() == std::errc::resource_unavailable_try_again ||
          system->code() == std::errc::operation_not_permitted);
}

// Returns what() of the exception, and clear words for std::bad_alloc, whose own are its name, and
// for a thread that could not be started, whose own are those of the system. The text lives as long
// as the exception.
[[nodiscard]] inline const char* error_text(const std::exception& error) noexcept {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return "there is not enough memory (see ulimit -v)";
  }
  if (is_lack_of_threads(error)) {
    return "no thread can be started (see ulimit -u and -v; an old container runtime may refuse "
           "the system call clone3)";
  }
  return error.what();
}

}  // namespace autotune
