#include "cli/interrupt.hpp"

#include <csignal>

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/exit_codes.hpp"
#include "cli/output/terminal.hpp"

namespace autotune {
namespace {

constexpr int kPoll_ms = 100;

sigset_t watched_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGINT);
  ::sigaddset(&signals, SIGTERM);
  struct sigaction hangup {};
  ::sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) ::sigaddset(&signals, SIGHUP);  // nohup ignores it
  return signals;
}

}  // namespace

InterruptWatch::InterruptWatch() {
  const sigset_t signals = watched_signals();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signals_ = FileDescriptor(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  thread_ = std::jthread([this](const std::stop_token& end) { watch(end); });
}

InterruptWatch::~InterruptWatch() {
  // A pending signal ends the program below, when it is unblocked: what was printed gets out first.
  static_cast<void>(flush_output());  // which remembers an error
  thread_.request_stop();
  thread_.join();
  signals_ = {};
  const sigset_t signals = watched_signals();
  ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

void InterruptWatch::watch(const std::stop_token& end) {
  while (!end.stop_requested()) {
    pollfd entry{signals_.get(), POLLIN, 0};
    if (::poll(&entry, 1, kPoll_ms) <= 0) continue;
    signalfd_siginfo received{};
    if (::read(signals_.get(), &received, sizeof received) != sizeof received) continue;
    // The workers end with the program: their sockets close, and the kernel kills them.
    if (source_.stop_requested()) ::_exit(exit_code::kInterrupted);
    source_.request_stop();
  }
}

}  // namespace autotune
