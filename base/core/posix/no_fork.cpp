#include "core/posix/no_fork.hpp"

#include <atomic>

#include <pthread.h>

namespace autotune {
namespace {

// Whoever forks goes first, or a process whose threads are always at work could never fork.
constexpr pthread_rwlock_t kUnlocked = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
constinit pthread_rwlock_t at_rest = kUnlocked;
constinit std::atomic<bool> is_registered = false;
// Objects of this thread. One that forks in the midst of its own work waits for nobody.
thread_local constinit int held = 0;

void before_fork() {
  if (held == 0) ::pthread_rwlock_wrlock(&at_rest);
}
void after_fork_in_parent() {
  if (held == 0) ::pthread_rwlock_unlock(&at_rest);
}
// The lock knows its owner by a number that the thread has in the parent only.
void after_fork_in_child() {
  at_rest = kUnlocked;
  if (held > 0) ::pthread_rwlock_rdlock(&at_rest);
}

}  // namespace

NoFork::NoFork() noexcept {
  if (!is_registered.load(std::memory_order_relaxed) && !is_registered.exchange(true)) {
    ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  }
  if (held++ == 0) ::pthread_rwlock_rdlock(&at_rest);
}

NoFork::~NoFork() {
  if (--held == 0) ::pthread_rwlock_unlock(&at_rest);
}

}  // namespace autotune
