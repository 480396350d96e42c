#include "core/posix/run_program.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "autotune/error.hpp"

namespace autotune {
namespace {

// Both ends are closed with this object, or sooner.
class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0) throw EnvironmentError("no pipe could be made");
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  [[nodiscard]] int reading() const { return ends_[0]; }
  [[nodiscard]] int writing() const { return ends_[1]; }
  void close_writing() { close_end(1); }

 private:
  void close_end(std::size_t end) {
    if (ends_[end] >= 0) close(std::exchange(ends_[end], -1));
  }
  std::array<int, 2> ends_{-1, -1};
};

// The program reads from `input`, and what it writes goes to `output`.
class SpawnActions {
 public:
  SpawnActions(int input, int output) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_adddup2(&actions_, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, output, STDERR_FILENO);
  }
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;

  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

std::vector<char*> environment_in_english(std::string& language) {
  std::vector<char*> variables = {language.data()};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with("LC_ALL=")) variables.push_back(*variable);
  }
  variables.push_back(nullptr);
  return variables;
}

pid_t start(const std::vector<std::string>& arguments, int input, int output) {
  std::vector<char*> words;
  words.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.data()));
  words.push_back(nullptr);
  std::string language = "LC_ALL=C";
  std::vector<char*> variables = environment_in_english(language);
  const SpawnActions actions(input, output);
  pid_t process = 0;
  const int error =
      posix_spawn(&process, words[0], actions.get(), nullptr, words.data(), variables.data());
  if (error != 0) {
    throw EnvironmentError(
        fmt::format("{} cannot be started: {}", arguments[0], std::strerror(error)));
  }
  return process;
}

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

ProgramResult run_program(const std::vector<std::string>& arguments) {
  Pipe input;
  input.close_writing();  // the program finds its input at an end
  Pipe output;
  const pid_t process = start(arguments, input.reading(), output.writing());
  output.close_writing();
  ProgramResult result;
  result.output = read_to_end(output.reading());
  result.exit_code = wait_for(process);
  return result;
}

}  // namespace autotune
