#include "core/posix/no_fork.hpp"

#include <atomic>
#include <chrono>
#include <utility>

#include <pthread.h>
#include <unistd.h>

namespace autotune {
namespace {

// Counters instead of a lock, whose owner would be a thread that a child does not have. Whoever
// forks goes first, or a process whose threads are always at work could never fork.
constinit std::atomic<int> at_work = 0;
constinit std::atomic<int> forking = 0;
constinit pthread_once_t registered = PTHREAD_ONCE_INIT;
// Objects of this thread. One that forks in the midst of its own work waits for nobody.
thread_local constinit int held = 0;
thread_local constinit bool is_forking = false;

void pause() {
  ::usleep(50);
}

// Work that waits for another process's database takes longer than a fork can wait.
void before_fork() {
  if (held > 0) return;
  is_forking = true;
  ++forking;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (at_work > 0 && std::chrono::steady_clock::now() < until) pause();
}
void after_fork_in_parent() {
  if (std::exchange(is_forking, false)) --forking;
}
void after_fork_in_child() {
  is_forking = false;
  forking = 0;
  at_work = held > 0 ? 1 : 0;
}
void register_handlers() {
  ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

}  // namespace

// No thread goes on before the handlers are there, whichever thread registers them.
NoFork::NoFork() noexcept {
  ::pthread_once(&registered, register_handlers);
  if (held++ > 0) return;
  while (true) {
    ++at_work;
    if (forking == 0) return;
    --at_work;
    while (forking > 0) pause();
  }
}

NoFork::~NoFork() {
  if (--held == 0) --at_work;
}

}  // namespace autotune
