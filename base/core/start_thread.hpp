// Threads whose absence is told as one of the library's own errors.
#pragma once

#include <system_error>
#include <thread>
#include <utility>

#include "autotune/error.hpp"

#include "core/error_text.hpp"

namespace autotune {

// Throws EnvironmentError where the system starts no more threads.
template <typename Body>
[[nodiscard]] std::jthread start_thread(Body&& body) {
  try {
    return std::jthread(std::forward<Body>(body));
  } catch (const std::system_error& error) {
    throw EnvironmentError(error_text(error));
  }
}

}  // namespace autotune
