#include "tuner/worker/child_process.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "autotune/error.hpp"

#include "core/posix/spawn.hpp"

namespace autotune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kKillPatience(2);
// The time that an idle child may take to end after its socket is closed.
constexpr std::chrono::milliseconds kExitPatience(200);
constexpr int kChildFd = 3;
// The part of a child's standard error that is kept for each request.
constexpr off_t kErrorBytes = 64 << 10;

// Names the limit of this process (see ulimit) that a call may have exceeded.
const char* limit_behind(int error) {
  if (error == EMFILE) return " (see ulimit -n)";
  if (error == EFBIG) return " (see ulimit -f)";
  if (error == ENOMEM) return " (see ulimit -v)";
  if (error == EAGAIN) return " (see ulimit -u)";
  return "";
}

[[noreturn]] void fail(const std::string& what, int error) {
  throw EnvironmentError(fmt::format("cannot start a worker: {}: {}{}", what, std::strerror(error),
                                     limit_behind(error)));
}

// Duplicates a descriptor under a number above those of the standard streams, which a process may
// have been started without.
FileDescriptor moved_up(const FileDescriptor& file) {
  FileDescriptor moved(::fcntl(file.get(), F_DUPFD_CLOEXEC, 10));
  if (moved.get() < 0) fail("fcntl", errno == EINVAL ? EMFILE : errno);  // EINVAL: above the limit
  return moved;
}

// Makes a file of fixed size, so that memory stays bounded: a child that writes too much gets an
// error.
FileDescriptor make_error_file() {
  const FileDescriptor file(::memfd_create("worker-stderr", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (file.get() < 0) fail("memfd_create", errno);
  if (::ftruncate(file.get(), kErrorBytes) != 0) fail("ftruncate", errno);
  if (::fcntl(file.get(), F_ADD_SEALS, F_SEAL_GROW) != 0) fail("fcntl", errno);
  return moved_up(file);
}

std::string describe(int status) {
  if (!WIFSIGNALED(status)) return fmt::format("exited with code {}", WEXITSTATUS(status));
  const char* name = ::sigabbrev_np(WTERMSIG(status));
  return fmt::format("killed by signal {} (SIG{})", WTERMSIG(status), name ? name : "?");
}

}  // namespace

ChildProcess::ChildProcess(const std::filesystem::path& program,
                           std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), program.string());
  arguments.insert(arguments.end(), {"--fd", std::to_string(kChildFd)});
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
    fail("socketpair", errno);
  }
  const FileDescriptor ours(sockets[0]), theirs(sockets[1]);
  socket_ = moved_up(ours);
  errors_ = make_error_file();
  const SpawnOptions options{
      .descriptors = {SpawnOptions::kNull, SpawnOptions::kNull, errors_.get(), theirs.get()},
      .own_group = true};
  static_assert(kChildFd == 3);  // the socket follows the three standard streams
  if (const int error = spawn(arguments, options, pid_)) {
    pid_ = -1;
    fail(program.string(), error);
  }
  // Programs that the child starts may keep its socket open when it has ended.
  process_ = FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
}

ChildProcess::~ChildProcess() {
  if (pid_ <= 0) return;
  ::shutdown(socket(), SHUT_RDWR);
  if (reap(Clock::now() + kExitPatience)) return;
  ::kill(-pid_, SIGKILL);
  reap(Clock::now() + kKillPatience);
}

bool ChildProcess::hung_up() const {
  pollfd entries[] = {{.fd = socket(), .events = 0, .revents = 0},
                      {.fd = process(), .events = POLLIN, .revents = 0}};
  return ::poll(entries, 2, 0) > 0;  // POLLHUP is always reported
}

void ChildProcess::hang_up() const {
  ::shutdown(socket(), SHUT_RDWR);
  ::kill(-pid_, SIGTERM);  // the child itself blocks this signal
}

void ChildProcess::forget_words() {
  ::lseek(errors_.get(), 0, SEEK_SET);
}

ChildProcess::End ChildProcess::finish(std::chrono::milliseconds patience) {
  std::optional<Exit> exit = reap(Clock::now() + patience);
  const bool killed = !exit;
  siginfo_t state{};
  if (killed) {
    ::waitid(P_PID, static_cast<id_t>(pid_), &state, WSTOPPED | WNOHANG | WNOWAIT);
    ::kill(-pid_, SIGKILL);
    exit = reap(Clock::now() + kKillPatience);
  }
  const int pid = std::exchange(pid_, -1);
  End end{"could not be killed: its device may need a reset", exit.has_value()};
  if (exit) {
    end.reason = killed && WIFSIGNALED(exit->status) ? "killed" : describe(exit->status);
    const bool by_signal = WIFSIGNALED(exit->status) && WTERMSIG(exit->status) == SIGKILL;
    end.by_others = killed ? state.si_pid == pid : by_signal;
    end.peak_bytes = exit->peak_bytes;
    if (WIFEXITED(exit->status)) end.exit_code = WEXITSTATUS(exit->status);
  }
  if (const std::string words = last_words(); !words.empty()) end.reason += ": " + words;
  return end;
}

std::optional<ChildProcess::Exit> ChildProcess::reap(Clock::time_point deadline) {
  while (true) {
    siginfo_t state{};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &state, WEXITED | WNOHANG | WNOWAIT) != 0) {
      return Exit{};  // this process ignores SIGCHLD, or something else has reaped the child
    }
    // A child that has ended keeps its number, and so that of its group, until it is reaped.
    if (state.si_pid == pid_) {
      ::kill(-pid_, SIGKILL);  // ends the rest of its group
      int status = 0;
      rusage usage{};
      const pid_t reaped = ::wait4(pid_, &status, WNOHANG, &usage);
      if (reaped == pid_) return Exit{status, std::int64_t{usage.ru_maxrss} * 1024};
      if (reaped < 0) return Exit{};  // something else was faster
    }
    if (Clock::now() >= deadline) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

std::string ChildProcess::last_words() const {
  constexpr off_t kTail = 512;
  // Writing moved the offset, which the child's standard error shares with this descriptor.
  const off_t size = ::lseek(errors_.get(), 0, SEEK_CUR);
  if (size <= 0) return "";
  std::string tail(static_cast<std::size_t>(std::min(size, kTail)), '\0');
  const ssize_t count =
      ::pread(errors_.get(), tail.data(), tail.size(), std::max<off_t>(size - kTail, 0));
  tail.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  while (!tail.empty() && tail.back() == '\n') tail.pop_back();
  std::string line = tail.substr(tail.rfind('\n') + 1);  // npos + 1 == 0
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return std::iscntrl(c); }, '?');
  return line;
}

bool enter_worker_process(int parent_pid) {
  std::signal(SIGUSR1, [](int) { ::kill(0, SIGKILL); });  // ends the whole group
  ::prctl(PR_SET_PDEATHSIG, SIGUSR1);
  if (::getppid() != parent_pid) return false;  // the parent ended before the signal was set
  const rlimit none{.rlim_cur = 0, .rlim_max = 0};
  ::setrlimit(RLIMIT_CORE, &none);
  return true;
}

void limit_memory([[maybe_unused]] std::int64_t bytes) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const rlimit limit{.rlim_cur = static_cast<rlim_t>(bytes),
                     .rlim_max = static_cast<rlim_t>(bytes)};
  ::setrlimit(RLIMIT_AS, &limit);
#endif
}

}  // namespace autotune
