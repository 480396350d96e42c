#include "core/posix/no_fork.hpp"

#include <ctime>
#include <utility>

#include <pthread.h>

namespace autotune {
namespace {

// Whoever forks goes first, or a process whose threads are always at work could never fork.
constexpr pthread_rwlock_t kUnlocked = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
constinit pthread_rwlock_t at_rest = kUnlocked;
constinit pthread_once_t registered = PTHREAD_ONCE_INIT;
// Objects of this thread. One that forks in the midst of its own work waits for nobody.
thread_local constinit int held = 0;

thread_local constinit bool has_waited = false;  // this thread has the lock for its fork

// Work that waits for another process's database takes longer than a fork can wait.
void before_fork() {
  if (held > 0) return;
  timespec until{};
  ::clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 2;
  has_waited = ::pthread_rwlock_timedwrlock(&at_rest, &until) == 0;
}
void after_fork_in_parent() {
  if (std::exchange(has_waited, false)) ::pthread_rwlock_unlock(&at_rest);
}
// The lock knows its owner by a number that the thread has in the parent only.
void after_fork_in_child() {
  at_rest = kUnlocked;
  has_waited = false;
  if (held > 0) ::pthread_rwlock_rdlock(&at_rest);
}

void register_handlers() {
  ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

}  // namespace

// No thread goes on before the handlers are there, whichever thread registers them.
NoFork::NoFork() noexcept {
  ::pthread_once(&registered, register_handlers);
  if (held++ == 0) ::pthread_rwlock_rdlock(&at_rest);
}

NoFork::~NoFork() {
  if (--held == 0) ::pthread_rwlock_unlock(&at_rest);
}

}  // namespace autotune
