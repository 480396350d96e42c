// A program that is watched while it runs, and the processes and files that it leaves behind.
#pragma once

#include <chrono>
#include <csignal>

#include <sys/prctl.h>
#include <sys/wait.h>

#include "autotune/error.hpp"

#include "db/tuning_database.hpp"
#include "tests/cli/program.hpp"

namespace autotune::test {

// For as long as it lives, orphans of programs that this process started become its children.
class OrphanWatch {
 public:
  OrphanWatch() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }
  ~OrphanWatch() { ::prctl(PR_SET_CHILD_SUBREAPER, 0); }
  OrphanWatch(const OrphanWatch&) = delete;
  OrphanWatch& operator=(const OrphanWatch&) = delete;

  // No child runs. Those that were killed, compilers among them, get time to end.
  static bool has_no_children() {
    const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    pid_t ended = 0;
    while ((ended = ::waitpid(-1, nullptr, WNOHANG)) >= 0) {
      if (ended == 0 && std::chrono::steady_clock::now() > late) return false;
    }
    return true;
  }
};

inline std::int64_t trials_in(const std::string& path) {
  try {
    const auto database = TuningDatabase::open_read_only(path);
    return database ? database->stats().trials : 0;
  } catch (const StorageError&) {
    return 0;  // just being made
  }
}

class RunningProgram {
 public:
  RunningProgram(const Program& program, const std::vector<std::string>& arguments,
                 const std::string& path = AUTOTUNE_PROGRAM)
      : database_(program.database),
        pid_(start_program(path, arguments, program.environment, out(), err())) {}
  ~RunningProgram() {
    if (pid_ > 0) finish_with(SIGKILL);
  }
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  [[nodiscard]] bool is_running() const {
    siginfo_t info{};
    constexpr int kLook = WEXITED | WNOHANG | WNOWAIT;
    return ::waitid(P_PID, static_cast<id_t>(pid_), &info, kLook) == 0 && info.si_pid == 0;
  }
  // Returns once this many trials are in the database, or the program has ended.
  void wait_for_trials(std::int64_t count) const {
    while (is_running() && trials_in(database_) < count) {
    }
  }
  // Returns once it has said this on its standard error, or has ended.
  void wait_for_words(const std::string& words) const {
    while (is_running()) {
      std::ostringstream said;
      said << std::ifstream(err()).rdbuf();
      if (has(said.str(), words)) return;
    }
  }
  // Returns once it holds back SIGINT and SIGTERM to treat them itself, or has ended.
  void wait_until_it_watches() const {
    const std::string path = "/proc/" + std::to_string(pid_) + "/status";
    while (is_running()) {
      std::ifstream status(path);
      for (std::string line; std::getline(status, line);) {
        if (line.rfind("SigBlk:", 0) != 0) continue;
        const auto blocked = std::stoull(line.substr(7), nullptr, 16);
        const auto holds = [&](int signal) { return (blocked >> (signal - 1) & 1) != 0; };
        if (holds(SIGINT) && !holds(SIGUSR1)) return;  // fork() holds back both
      }
    }
  }
  // Waits for its end; after a signal, if one is given.
  ProgramResult finish_with(int signal = 0) {
    if (signal != 0) ::kill(pid_, signal);
    const pid_t pid = std::exchange(pid_, -1);
    return finished_program(pid, out(), err());
  }

 private:
  [[nodiscard]] std::string out() const { return folder_.path() / "out"; }
  [[nodiscard]] std::string err() const { return folder_.path() / "err"; }

  TemporaryFolder folder_;
  std::string database_;
  pid_t pid_;
};

}  // namespace autotune::test
