#include "cli/interrupt.hpp"

#include <csignal>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/exit_codes.hpp"
#include "cli/output/terminal.hpp"

namespace autotune {
namespace {

constexpr int kPoll_ms = 100;

// A signal that is ignored when the program starts stays ignored: nohup ignores SIGHUP, and a shell
// SIGINT for what it runs in the background.
sigset_t watched_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now {};
    ::sigaction(number, nullptr, &now);
    if (now.sa_handler != SIG_IGN) ::sigaddset(&signals, number);
  }
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
    say(fmt::format("finishing {}: a second Ctrl-C ends the program now", step()));
  }
}

void InterruptWatch::begin_step(std::string name) {
  const std::lock_guard lock(mutex_);
  step_ = std::move(name);
}

std::string InterruptWatch::step() const {
  const std::lock_guard lock(mutex_);
  return step_;
}

}  // namespace autotune
