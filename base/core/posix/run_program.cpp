#include "core/posix/run_program.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
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

int wait_for(pid_t process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
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
  output.writing = {};  // otherwise reading would not end with the program
  ProgramResult result;
  result.output = read_to_end(output.reading.get());
  result.exit_code = wait_for(process);
  return result;
}

}  // namespace autotune
