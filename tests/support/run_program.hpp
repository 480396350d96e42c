// Runs the built program as a user would and captures its output.
#pragma once

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace autotune::test {

// A folder that is removed with its scope.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "autotune-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct ProgramResult {
  int exit_code = -1;
  std::string out;
  std::string err;
};

using Environment = std::vector<std::pair<std::string, std::string>>;

// Each argument reaches the program as it is; no shell sees it. To be waited for by the caller.
inline pid_t start_program(const std::string& program, const std::vector<std::string>& arguments,
                           const Environment& environment, const std::string& out = "/dev/null",
                           const std::string& err = "/dev/null") {
  std::fflush(nullptr);  // or the child would write this process's pending output as well
  const pid_t child = ::fork();
  if (child == 0) {
    if (std::freopen("/dev/null", "r", stdin) == nullptr ||
        std::freopen(out.c_str(), "w", stdout) == nullptr ||
        std::freopen(err.c_str(), "w", stderr) == nullptr) {
      ::_exit(126);
    }
    std::signal(SIGINT, SIG_DFL);  // a shell ignores it for tests that run in the background
    for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> argv = {const_cast<char*>(program.c_str())};
    for (const std::string& argument : arguments)
      argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    ::execv(program.c_str(), argv.data());
    ::_exit(127);
  }
  return child;
}

// The result of a program that was started, once it has ended.
inline ProgramResult finished_program(pid_t child, const std::string& out, const std::string& err) {
  int status = 0;
  ::waitpid(child, &status, 0);
  const auto read = [](const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  };
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status), read(out), read(err)};
}

inline ProgramResult run_program(const std::string& program,
                                 const std::vector<std::string>& arguments,
                                 const Environment& environment) {
  const TemporaryFolder folder;
  const std::string out = folder.path() / "out";
  const std::string err = folder.path() / "err";
  return finished_program(start_program(program, arguments, environment, out, err), out, err);
}

}  // namespace autotune::test
