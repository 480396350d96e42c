// Counts the system calls of a thread, as a debugger sees them.
#pragma once

#include <csignal>
#include <exception>
#include <functional>
#include <optional>

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace autotune::test {

// Between two calls of it system calls are counted.
inline void mark_system_calls() {
  static_cast<void>(::syscall(SYS_getppid));
}

// Runs `work` in a process of its own, on its first thread. Returns the number of system calls
// between its two marks, -1 where it failed, nothing where the kernel lets nobody count.
inline std::optional<long> count_system_calls(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::ptrace(PTRACE_TRACEME, 0, 0, 0) != 0) ::_exit(2);
    ::raise(SIGSTOP);
    try {
      work();
      ::_exit(0);
    } catch (const std::exception&) {
      ::_exit(1);
    }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFSTOPPED(status)) return std::nullopt;
  ::ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
  long marks = 0;
  long calls = 0;
  int signal = 0;
  while (::ptrace(PTRACE_SYSCALL, child, 0, signal) == 0 && ::waitpid(child, &status, 0) == child &&
         WIFSTOPPED(status)) {
    const bool is_call = WSTOPSIG(status) == (SIGTRAP | 0x80);
    signal = is_call ? 0 : WSTOPSIG(status);
    __ptrace_syscall_info info{};
    if (!is_call || ::ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof info, &info) <= 0) continue;
    if (info.op != PTRACE_SYSCALL_INFO_ENTRY) continue;
    if (info.entry.nr == SYS_getppid) {
      ++marks;
    } else if (marks == 1) {
      ++calls;
    }
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 && marks == 2 ? calls : -1;
}

}  // namespace autotune::test
