#include "host/run_program.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "autotune/error.hpp"

namespace autotune {
namespace {

// What the program writes goes to `output`.
class SpawnActions {
 public:
  explicit SpawnActions(int output) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
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

pid_t start(const std::vector<std::string>& arguments, int output) {
  std::vector<char*> words;
  words.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.data()));
  words.push_back(nullptr);
  std::string language = "LC_ALL=C";
  std::vector<char*> variables = environment_in_english(language);
  const SpawnActions actions(output);
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
    const ssize_t count = read(file, piece.data(), piece.size());
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
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw EnvironmentError("no pipe could be made");
  pid_t process = 0;
  try {
    process = start(arguments, ends[1]);
  } catch (...) {
    close(ends[0]);
    close(ends[1]);
    throw;
  }
  close(ends[1]);
  ProgramResult result;
  result.output = read_to_end(ends[0]);
  close(ends[0]);
  result.exit_code = wait_for(process);
  return result;
}

}  // namespace autotune
