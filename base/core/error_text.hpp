// The words of an exception, for people.
#pragma once

#include <exception>
#include <new>

namespace autotune {

// Returns what() of the exception, and clear words for std::bad_alloc, whose own are its name. The
// text lives as long as the exception.
[[nodiscard]] inline const char* error_text(const std::exception& error) noexcept {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return "there is not enough memory (see ulimit -v)";
  }
  return error.what();
}

}  // namespace autotune
