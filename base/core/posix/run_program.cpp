#include "core/posix/run_program.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "autotune/error.hpp"

#include "core/posix/file_descriptor.hpp"
#include "core/posix/spawn.hpp"

namespace autotune {
namespace {

struct Pipe {
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw EnvironmentError("no pipe could be made");
    reading = FileDescriptor(ends[0]);
    writing = FileDescriptor(ends[1]);
  }
  FileDescriptor reading, writing;
};

std::string read_to_end(int file) {
  std::string text;
  std::array<char, 4096> piece;
  while (true) {
    const ssize_t count = ::read(file, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(count));
    if (text.size() > kMaxProgramOutput) text.resize(kMaxProgramOutput);
  }
}

// A descriptor of a process, since its number may be another one's when somebody else has waited
// for it. Linux before 5.4 has none to wait for.
FileDescriptor descriptor_of(pid_t process) {
  return FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
}

std::optional<int> wait_for(pid_t process, const FileDescriptor& descriptor) {
  constexpr auto kPidfd = static_cast<idtype_t>(3);  // P_PIDFD, which older C libraries do not name
  const bool has_descriptor = descriptor.get() >= 0;
  const auto id = static_cast<id_t>(has_descriptor ? descriptor.get() : process);
  siginfo_t ended{};
  while (::waitid(has_descriptor ? kPidfd : P_PID, id, &ended, WEXITED) != 0) {
    if (errno != EINTR) return std::nullopt;
  }
  return ended.si_code == CLD_EXITED ? ended.si_status : 128 + ended.si_status;
}

}  // namespace

ProgramResult run_program(const std::vector<std::string>& arguments,
                          std::vector<std::string> environment) {
  environment.emplace_back("LC_ALL=C");
  Pipe output;
  const int writing = output.writing.get();
  pid_t process = 0;
  const int error = spawn(arguments,
                          {.descriptors = {SpawnOptions::kNull, writing, writing},
                           .environment = std::move(environment)},
                          process);
  if (error != 0) {
    throw EnvironmentError(
        fmt::format("{} cannot be started: {}", arguments[0], std::strerror(error)));
  }
  const FileDescriptor descriptor = descriptor_of(process);
  output.writing = {};  // otherwise reading would not end with the program
  ProgramResult result;
  result.output = read_to_end(output.reading.get());
  result.exit_code = wait_for(process, descriptor);
  return result;
}

}  // namespace autotune
