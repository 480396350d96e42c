#include "api/fork_count.hpp"

#include <atomic>

#include <pthread.h>

#include "autotune/error.hpp"

namespace autotune {
namespace {

constinit std::atomic<std::uint32_t> forks = 0;

}  // namespace

std::uint32_t fork_count() noexcept {
  static const int registered = ::pthread_atfork(nullptr, nullptr, [] { ++forks; });
  static_cast<void>(registered);
  return forks.load(std::memory_order_relaxed);
}

void check_not_forked(std::uint32_t count) {
  if (count == forks.load(std::memory_order_relaxed)) return;
  throw UsageError(
      "this Library was made before the process was forked: the child must make its own, and use "
      "a GPU only if the parent had not");
}

}  // namespace autotune
