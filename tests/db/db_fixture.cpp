#include "db_fixture.hpp"

#include <csignal>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/json.hpp"

namespace autotune::test {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (fs::canonical(fs::temp_directory_path()) / "autotune-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

TrialScope some_scope() {
  return {.device_class = "cc 9.0 sms 132",
          .template_name = "gemm_tiled",
          .space_version = 1,
          .source_hash = "0123456789abcdef",
          .environment = {"580.1", "13.0.88", "0.1.0", 1}};
}

RunInfo some_run(const std::string& guid) {
  return {guid, "NVIDIA H200", "GPU-1", "autotune --sizes 1024", "2026-01-02T03:04:05Z"};
}

Problem gemm(std::int64_t m, std::int64_t n, std::int64_t k, const std::string& layout) {
  return Problem("gemm", {{"m", m}, {"n", n}, {"k", k}},
                 {{"type", "f32"}, {"layout", layout}, {"math", "strict"}});
}

Problem square(std::int64_t size) {
  return gemm(size, size, size);
}

Trial some_trial(int number, std::int64_t size) {
  Trial trial;
  trial.problem = square(size);
  trial.template_name = "gemm_tiled";
  trial.configuration = Configuration({{"TILE_WIDTH", 16}, {"NUMBER", number}});
  trial.measurement.samples_us = {99.5 + number, 100.0 + number, 100.25 + number};
  trial.measurement.median_us = 100.0 + number;
  trial.measurement.spread_us = 0.25;
  trial.measurement.launches_per_sample = 20;
  trial.measurement.sm_clock_mhz = 1980;
  trial.verification = {true, 1.5, 67.0, 1e-7};
  trial.resources = {.registers = 64, .spill_bytes = 0, .stack_bytes = 0, .shared_bytes = 4096};
  return trial;
}

std::vector<Trial> some_trials(int first, int count, std::int64_t size) {
  std::vector<Trial> trials;
  for (int number = first; number < first + count; ++number) {
    trials.push_back(some_trial(number, size));
  }
  return trials;
}

Winner some_winner(std::int64_t size, double median_us) {
  Winner winner;
  winner.device_class = some_scope().device_class;
  winner.device_label = some_run().device_label;
  winner.problem = square(size);
  winner.template_name = "gemm_tiled";
  winner.space_version = 1;
  winner.source_hash = some_scope().source_hash;
  winner.environment = some_scope().environment;
  winner.configuration = some_trial(1).configuration;
  winner.median_us = median_us;
  winner.low_us = median_us - 1;
  winner.high_us = median_us + 1;
  winner.confirmed = true;
  winner.ties = {some_trial(2).configuration};
  winner.measured_at = "2026-01-02T03:04:05Z";
  return winner;
}

std::string text_of(const Trial& trial) {
  return nlohmann::json{{"problem", trial.problem},
                        {"template", trial.template_name},
                        {"configuration", to_string(trial.configuration)},
                        {"status", to_string(trial.status)},
                        {"detail", trial.detail},
                        {"measurement", trial.measurement},
                        {"verification", trial.verification},
                        {"resources", trial.resources}}
      .dump();
}

std::string text_of(const Winner& winner) {
  return nlohmann::json(winner).dump();
}

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_bytes(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

void execute(const fs::path& path, const std::string& statements) {
  SQLite::Database(path.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec(statements);
}

std::string storage_error(const std::function<void()>& work) {
  try {
    work();
  } catch (const StorageError& error) {
    return error.what();
  }
  return "no error";
}

Child::Child(const std::function<void(Child&)>& work) {
  if (::pipe2(to_parent_.data(), O_CLOEXEC) != 0 || ::pipe2(to_child_.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error("no pipe");
  }
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("no child process");
  const bool is_child = pid_ == 0;
  ::close(to_parent_[is_child ? 0 : 1]);
  ::close(to_child_[is_child ? 1 : 0]);
  if (!is_child) return;
  try {
    work(*this);
    ::_exit(0);
  } catch (const std::exception& error) {
    say(error.what());
    ::_exit(1);
  }
}

Child::~Child() {
  if (pid_ > 0) kill();
  ::close(to_parent_[0]);
  ::close(to_child_[1]);
}

void Child::say(const std::string& line) {
  const std::string text = line + "\n";
  if (::write(to_parent_[1], text.data(), text.size()) < 0) ::_exit(2);
}

void Child::wait_for_parent() {
  char byte = 0;
  if (::read(to_child_[0], &byte, 1) < 0) ::_exit(2);
}

std::string Child::next_line() {
  std::string line;
  char byte = 0;
  while (::read(to_parent_[0], &byte, 1) == 1 && byte != '\n') line += byte;
  return line;
}

void Child::go_on() {
  if (::write(to_child_[1], "x", 1) != 1) throw std::runtime_error("the child is gone");
}

void Child::kill() {
  ::kill(pid_, SIGKILL);
  finished_well();
}

bool Child::finished_well() {
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void become_nobody() {
  if (::geteuid() == 0 && ::setuid(kNobody) != 0) ::_exit(2);
}

void give_to_nobody(const std::vector<fs::path>& files) {
  for (const fs::path& file : files) {
    if (::geteuid() == 0 && ::chown(file.c_str(), kNobody, kNobody) != 0) {
      throw std::runtime_error(file.string() + " keeps its owner");
    }
  }
}

}  // namespace autotune::test
