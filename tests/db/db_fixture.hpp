// Shared parts of the tests of the databases: a folder that goes away, made-up rows, child
// processes.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "autotune/error.hpp"

#include "db/tuning_database.hpp"

namespace autotune::test {

class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const {
    return path_ / name;
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

[[nodiscard]] TrialScope some_scope();
[[nodiscard]] RunInfo some_run(const std::string& guid = "run 1");
[[nodiscard]] Problem gemm(std::int64_t m, std::int64_t n, std::int64_t k,
                           const std::string& layout = "NN");
[[nodiscard]] Problem square(std::int64_t size);
// A correct trial; its number tells its configuration and time from those of the others.
[[nodiscard]] Trial some_trial(int number, std::int64_t size = 1024);
[[nodiscard]] std::vector<Trial> some_trials(int first, int count, std::int64_t size = 1024);
[[nodiscard]] Winner some_winner(std::int64_t size, double median_us);

// Everything that a row holds, to compare by.
[[nodiscard]] std::string text_of(const Trial& trial);
[[nodiscard]] std::string text_of(const Winner& winner);

// The number of problems that visit_problems() visits.
[[nodiscard]] inline int count_problems(const TuningDatabase& database,
                                        const ResultFilter& filter) {
  int count = 0;
  database.visit_problems(filter, [&](const Problem&) { ++count; });
  return count;
}

[[nodiscard]] std::string bytes_of(const std::filesystem::path& path);
void write_bytes(const std::filesystem::path& path, const std::string& bytes);

// Runs SQL on a file, which is made where there is none.
void execute(const std::filesystem::path& path, const std::string& statements);

// The message of the StorageError that `work` throws; "no error" when it throws none.
[[nodiscard]] std::string storage_error(const std::function<void()>& work);

// A fork of the test that runs `work` and ends. Start none while other threads run.
class Child {
 public:
  explicit Child(const std::function<void(Child&)>& work);
  ~Child();  // kills it when it still runs
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // In the child: sends one line; waits for the parent's word.
  void say(const std::string& line);
  void wait_for_parent();
  // In the parent: the next line, empty at the end of all; lets the child go on; ends it.
  std::string next_line();
  void go_on();
  void kill();
  // Waits for its end; true when it ended by itself and without an exception.
  bool finished_well();

 private:
  std::array<int, 2> to_parent_{};
  std::array<int, 2> to_child_{};
  pid_t pid_ = -1;
};

// The second user of tests with two.
inline constexpr unsigned kNobody = 65534;
// Gives up root's right to do what permissions forbid. For children.
void become_nobody();
// Makes files the second user's, if this process is root's.
void give_to_nobody(const std::vector<std::filesystem::path>& files);

}  // namespace autotune::test
