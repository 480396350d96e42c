#include "tuner/child_process.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "autotune/error.hpp"

extern char** environ;

namespace autotune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kKillPatience(2);
// Within a message neither side computes: a pause this long means that the child hangs.
constexpr timeval kMessagePatience = {.tv_sec = 10, .tv_usec = 0};
// A child that closed its socket is about to end; it gets this long to do so by itself.
constexpr std::chrono::milliseconds kExitPatience(200);

[[noreturn]] void fail(const char* what) {
  throw Error(fmt::format("cannot start a worker: {}: {}", what, std::strerror(errno)));
}

std::string describe(int status) {
  if (WIFSIGNALED(status)) {
    return fmt::format("killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  }
  return fmt::format("exited with code {}", WEXITSTATUS(status));
}

}  // namespace

ChildProcess::ChildProcess(const std::filesystem::path& program,
                           std::vector<std::string> arguments) {
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) fail("socketpair");
  socket_ = sockets[0];
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &kMessagePatience, sizeof kMessagePatience);
  ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &kMessagePatience, sizeof kMessagePatience);
  errors_ = ::memfd_create("worker-stderr", MFD_CLOEXEC);

  // The child's ends get numbers that nothing else has: dup2 in the child clears close-on-exec.
  constexpr int kChildFd = 3;
  arguments.insert(arguments.begin(), program.string());
  arguments.insert(arguments.end(), {"--fd", std::to_string(kChildFd)});
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);

  // When the socket already is number 3, dup2 onto itself would leave it close-on-exec.
  const int source = sockets[1] == kChildFd ? ::fcntl(sockets[1], F_DUPFD_CLOEXEC, 10) : sockets[1];
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  if (errors_ >= 0) ::posix_spawn_file_actions_adddup2(&actions, errors_, STDERR_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, source, kChildFd);
  // Signals that this program blocks to wait for them are not the child's to block.
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = -1;
  const int result =
      ::posix_spawn(&pid, program.c_str(), &actions, &attributes, argv.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (source != sockets[1]) ::close(source);
  ::close(sockets[1]);
  if (result != 0) {
    errno = result;
    close_descriptors();
    fail(program.c_str());
  }
  pid_ = pid;
}

ChildProcess::~ChildProcess() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    reap(Clock::now() + kKillPatience);
  }
  close_descriptors();
}

bool ChildProcess::wait_readable(Clock::time_point deadline) const {
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left < 0) return false;
    pollfd entry{socket_, POLLIN, 0};
    const int ready = ::poll(&entry, 1, static_cast<int>(std::min<std::int64_t>(left + 1, 60'000)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return true;  // reading will say what is wrong
  }
}

std::string ChildProcess::finish() {
  std::optional<int> status = reap(Clock::now() + kExitPatience);
  const bool killed = !status;
  if (killed) {
    ::kill(pid_, SIGKILL);
    status = reap(Clock::now() + kKillPatience);
  }
  pid_ = -1;
  std::string reason = "could not be killed: its GPU may need a reset";
  if (status) reason = killed ? "killed" : describe(*status);
  if (const std::string words = last_words(); !words.empty()) reason += ": " + words;
  close_descriptors();
  return reason;
}

std::optional<int> ChildProcess::reap(Clock::time_point deadline) {
  while (true) {
    int status = 0;
    const pid_t result = ::waitpid(pid_, &status, WNOHANG);
    if (result == pid_) return status;
    if (result < 0 && errno != EINTR) return 0;  // somebody else reaped it
    if (Clock::now() >= deadline) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

std::string ChildProcess::last_words() const {
  constexpr off_t kTail = 512;
  if (errors_ < 0) return "";
  const off_t size = ::lseek(errors_, 0, SEEK_END);
  if (size <= 0) return "";
  std::string tail(static_cast<std::size_t>(std::min(size, kTail)), '\0');
  const ssize_t count = ::pread(errors_, tail.data(), tail.size(), std::max<off_t>(size - kTail, 0));
  tail.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  while (!tail.empty() && tail.back() == '\n') tail.pop_back();
  return tail.substr(tail.rfind('\n') + 1);  // npos + 1 == 0
}

void ChildProcess::close_descriptors() {
  for (int* fd : {&socket_, &errors_}) {
    if (*fd >= 0) ::close(*fd);
    *fd = -1;
  }
}

}  // namespace autotune
