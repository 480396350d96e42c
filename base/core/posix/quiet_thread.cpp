#include "core/posix/quiet_thread.hpp"

#include <csignal>

#include <sys/resource.h>
#include <unistd.h>

namespace autotune {

void be_a_quiet_thread() noexcept {
  constexpr int kLow = 10;  // a tenth of the time that others get on a core
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  // On Linux the number of a thread stands for that thread alone.
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kLow);
}

}  // namespace autotune
