// The program on storage that fails, and several programs on one file.
#include <csignal>
#include <memory>

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>

#include "tests/cli/running_program.hpp"

namespace autotune::test {
namespace {

using nlohmann::json;

constexpr std::int64_t kTrials = 4;  // of each size

std::vector<std::string> search(const std::string& sizes,
                                const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"--sizes",
                                        sizes,
                                        "--device",
                                        "cpu",
                                        "--tile-width",
                                        "8",
                                        "--results-per-thread",
                                        "2",
                                        "--unroll",
                                        "full",
                                        "--only",
                                        "VECTOR_WIDTH=1",
                                        "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

// Every measurement that was made is in the output, though not in the file.
void check_told(const ProgramResult& result, const std::string& reason, std::int64_t measured) {
  CAPTURE(result.err);
  CHECK(result.exit_code == kNotStored);
  CHECK(lines(result.err) == 1);
  CHECK(has(result.err, "autotune: warning: "));
  CHECK(has(result.err, reason));
  const json document = json::parse(result.out);
  CHECK(document["measured"] == measured);
  CHECK(document["results"][0]["status"] == "ok");
  CHECK(document["results"][0]["confirmed"] == true);
}

bool is_whole(const std::string& path) {
  SQLite::Database database(path, SQLite::OPEN_READWRITE);
  return database.execAndGet("PRAGMA integrity_check").getString() == "ok";
}

// For programs that are started while it lives: no file grows beyond this.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
};

TEST_SUITE("storage that fails") {
  TEST_CASE("a file that cannot grow is told, and the results are printed") {
    const Program program;
    REQUIRE(program(search("32")).exit_code == kSuccess);  // fills the cubin store
    {
      // The limit holds for all files, so the database has to be the largest.
      SQLite::Database large(program.database, SQLite::OPEN_READWRITE);
      large.exec("CREATE TABLE ballast AS SELECT zeroblob(2000000)");
    }
    {
      const FileSizeLimit limit(std::filesystem::file_size(program.database));
      check_told(program(search("33,34,35")), "trials were not stored)", 3 * kTrials);
    }
    CHECK(is_whole(program.database));
    const std::int64_t stored = trials_in(program.database);
    CHECK(stored < 4 * kTrials);
    const json again = json::parse(program(search("33,34,35")).out);
    CHECK(again["measured"].get<std::int64_t>() == 4 * kTrials - stored);
    CHECK(trials_in(program.database) == 4 * kTrials);
  }

  TEST_CASE("an export that does not fit leaves the file that was there") {
    const Program program;
    REQUIRE(program(search("32")).exit_code == kSuccess);
    const std::string path = program.database + ".json";
    const std::vector<std::string> to_file = {"db", "export", "--format", "json", "--output", path};
    REQUIRE(program(to_file).exit_code == kSuccess);
    const auto size = std::filesystem::file_size(path);
    ProgramResult result;
    {
      const FileSizeLimit limit(1000);
      result = program(to_file);
    }
    CHECK(result.exit_code == kUsage);
    CHECK(result.err == "autotune: --output: " + path + ": cannot be written: File too large\n");
    CHECK(std::filesystem::file_size(path) == size);
    const std::filesystem::directory_iterator folder(std::filesystem::path(path).parent_path());
    for (const auto& entry : folder) {
      CHECK_FALSE(has(entry.path().filename().string(), ".autotune-output"));
    }
  }

  TEST_CASE("an export replaces a file, with its permissions, and writes where a link leads") {
    const Program program;
    REQUIRE(program(search("32")).exit_code == kSuccess);
    const std::string path = program.database + ".csv";
    const std::string link = program.database + ".link";
    const auto written = [&](const std::string& to) {
      const std::vector<std::string> command = {"db", "export", "--format", "csv", "--output", to};
      return program(command).exit_code == kSuccess;
    };
    REQUIRE(written(path));
    const auto size = std::filesystem::file_size(path);
    const auto only_mine = std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;
    std::filesystem::permissions(path, only_mine);
    std::filesystem::create_symlink(path, link);
    for (const std::string& to : {path, link}) {
      CAPTURE(to);
      std::filesystem::resize_file(path, 3 * size);
      CHECK(written(to));
      CHECK(std::filesystem::file_size(path) == size);
      CHECK(std::filesystem::status(path).permissions() == only_mine);
    }
    CHECK(std::filesystem::is_symlink(link));
  }

  // Whoever can make files in the folder made links of all names that could be guessed.
  TEST_CASE("an export writes through no link that somebody planted") {
    const Program program;
    REQUIRE(program(search("32")).exit_code == kSuccess);
    const TemporaryFolder folder;
    const std::string precious = folder.path() / "precious";
    std::ofstream(precious) << "precious";
    const std::string path = folder.path() / "out.json";
    std::ofstream{path};
    const pid_t last = ::fork();  // pids are given in turn
    if (last == 0) ::_exit(0);
    ::waitpid(last, nullptr, 0);
    for (pid_t pid = last; pid < last + 500; ++pid) {
      std::filesystem::create_symlink(precious,
                                      folder.path() / (".autotune-output-" + std::to_string(pid)));
    }
    const std::vector<std::string> command = {"db", "export", "--format", "json", "--output", path};
    CHECK(program(command).exit_code == kSuccess);
    CHECK_FALSE(std::filesystem::is_symlink(path));
    CHECK(std::filesystem::file_size(precious) == 8);
  }

  TEST_CASE("a merge of which one database is none takes nothing in") {
    const Program program;
    REQUIRE(program(search("32")).exit_code == kSuccess);
    const std::string target = program.database + ".target";
    const ProgramResult result =
        program({"db", "merge", program.database, "/nowhere/a.db", "--db", target});
    CHECK(result.exit_code == kUsage);
    CHECK(result.err == "autotune: '/nowhere/a.db' does not exist: name a database\n");
    CHECK_FALSE(std::filesystem::exists(target));
  }

  TEST_CASE("a merge counts the damaged rows that it leaves out") {
    const Program program;
    REQUIRE(program(search("32")).exit_code == kSuccess);
    const std::string target = program.database + ".target";
    SQLite::Database(program.database, SQLite::OPEN_READWRITE)
        .exec("UPDATE trial SET detail = 'x' WHERE id <= 2; UPDATE winner SET body = 'x'");
    const ProgramResult result = program({"db", "merge", program.database, "--db", target});
    CHECK(result.exit_code == kSuccess);
    CHECK(result.out ==
          program.database + ": " + std::to_string(kTrials - 2) + " trials, 0 winners merged\n");
    CHECK(result.err == "autotune: warning: " + program.database + ": 3 rows left out, damaged\n");
  }

  TEST_CASE("a file that is deleted while the program tunes is told") {
    const Program program;
    RunningProgram tuning(program, search("40,41"));
    tuning.wait_for_trials(1);
    std::filesystem::remove(program.database);
    const ProgramResult result = tuning.finish_with();
    CAPTURE(result.err);
    CHECK(result.exit_code == kNotStored);
    CHECK(has(result.err, "was deleted or replaced while it was open"));
    CHECK(json::parse(result.out)["measured"] == 2 * kTrials);
    CHECK_FALSE(std::filesystem::exists(program.database));
  }

  TEST_CASE("a lock of another process is waited for, said and not taken from the budget") {
    const Program program;
    REQUIRE(program(search("32")).exit_code == kSuccess);
    SQLite::Database other(program.database, SQLite::OPEN_READWRITE);
    const std::string words = "waiting for another process, which has the database locked\n";
    other.exec("BEGIN EXCLUSIVE");
    {
      RunningProgram waiting(program, search("33", {"--budget", "30s"}));
      waiting.wait_for_words(words);
      other.exec("COMMIT");
      const ProgramResult result = waiting.finish_with();
      CHECK(result.err == "autotune: " + words);
      CHECK(result.exit_code == kSuccess);
      CHECK(json::parse(result.out)["measured"] == kTrials);
    }
    // Not for longer than the budget allows.
    other.exec("BEGIN EXCLUSIVE");
    const auto start = std::chrono::steady_clock::now();
    const ProgramResult result =
        program(search("34", {"--budget", "1s", "--db", program.database}));
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(14));  // not 15
    CHECK(result.exit_code == kUsage);
    CHECK(has(result.err, words));
    CHECK(has(result.err, "is locked by another process"));
  }

  TEST_CASE("a process that is stopped with its lock costs one wait, and the results are printed") {
    Program program;
    REQUIRE(program(search("32")).exit_code == kSuccess);
    // A compiler that waits until the lock is taken.
    const std::filesystem::path& folder = program.folder.path();
    const std::string compiler = folder / "c++";
    std::ofstream(compiler) << "#!/bin/sh\n[ \"$1\" = --version ] && exec c++ \"$@\"\n"
                               "grep -q autotune_call_probe $TMPDIR/kernel.cu || touch "
                            << folder / "compiles"
                            << "\nwhile [ -e " << folder / "compiles"
                            << " ] && [ ! -e " << folder / "locked"
                            << " ]; do sleep 0.01; done\nexec c++ \"$@\"\n";
    std::filesystem::permissions(compiler, std::filesystem::perms::owner_all);
    program.environment.emplace_back("CXX", compiler);
    RunningProgram tuning(program, search("33,34", {"--budget", "60s", "--progress", "plain"}));
    while (tuning.is_running() && !std::filesystem::exists(folder / "compiles")) {
    }
    SQLite::Database other(program.database, SQLite::OPEN_READWRITE);
    other.setBusyTimeout(10'000);
    other.exec("BEGIN EXCLUSIVE");
    std::ofstream(folder / "locked") << "now";
    const ProgramResult result = tuning.finish_with();
    CAPTURE(result.err);
    CHECK(has(result.err, "\nwaiting for the database "));
    CHECK(has(result.err, "is locked by another process"));
    CHECK(result.exit_code == kNotStored);
    CHECK(json::parse(result.out)["measured"] == 2 * kTrials);
    CHECK(json::parse(result.out)["results"][0]["confirmed"] == true);
  }

  TEST_CASE("where no file can be made the results are printed, and said not to be kept") {
    Program program;
    program.environment[0].second = "/proc/autotune.db";
    check_told(program(search("32")), "results of this run will not be kept", kTrials);
    // A file that was asked for is another matter.
    const ProgramResult result = program(search("32", {"--db", "/proc/autotune.db"}));
    CHECK(result.exit_code == kUsage);
    CHECK(result.out == "");
    CHECK(lines(result.err) == 1);
  }
}

TEST_SUITE("several programs on one file") {
  TEST_CASE("eight that tune at once, two the same size, lose nothing and double nothing") {
    const Program program;
    REQUIRE(program(search("32")).exit_code == kSuccess);  // fills the cubin store
    const std::vector<std::string> plenty = {"--budget", "10m"};
    std::vector<std::unique_ptr<RunningProgram>> programs;
    for (const char* size : {"33", "34", "35", "36", "33", "34", "35", "36"}) {
      programs.push_back(std::make_unique<RunningProgram>(program, search(size, plenty)));
    }
    std::int64_t measured = kTrials;
    for (const auto& one : programs) {
      const ProgramResult result = one->finish_with();
      CAPTURE(result.err);
      CHECK(result.exit_code == kSuccess);
      CHECK_FALSE(has(result.err, "is locked by another process"));
      measured += json::parse(result.out)["measured"].get<std::int64_t>();
    }
    CHECK(trials_in(program.database) == measured);
    CHECK(is_whole(program.database));
    const json whole = json::parse(program(search("33,34,35,36", plenty)).out);
    CHECK(whole["measured"] == 0);
    CHECK(whole["known"] == 4 * kTrials);
    for (const json& result : whole["results"]) CHECK(result["confirmed"] == true);
  }
}

}  // namespace
}  // namespace autotune::test
