// The program on systems that are odd: clocks that jump, file systems without locks, long paths.
#include <chrono>
#include <cstdio>

#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/cli/fake_machine.hpp"

namespace autotune::test {
namespace {

const std::vector<std::string> kTune = [] {
  std::vector<std::string> arguments = small_search("8");
  arguments.emplace_back("--json");
  return arguments;
}();

// The program on the fake driver and on a system of which this part is odd.
struct OddProgram : Program {
  explicit OddProgram(const std::string& part) {
    environment.back() = {"AUTOTUNE_LIBCUDA", AUTOTUNE_FAKE_CUDA};
    environment.emplace_back("LD_PRELOAD", AUTOTUNE_ODD_SYSTEM);
    environment.emplace_back("ODD_SYSTEM", part);
  }
};

TEST_SUITE("odd systems") {
  TEST_CASE("a wall clock that jumps by years changes no choice") {
    if (!can_compile()) return;
    const OddProgram program("clock");
    const auto result = nlohmann::json::parse(program(kTune).out);
    const auto usual = nlohmann::json::parse(OddProgram("nothing")(kTune).out);
    CHECK(result["measured"] == 8);
    CHECK(result["results"][0]["configuration"] == usual["results"][0]["configuration"]);
    CHECK(nlohmann::json::parse(program(kTune).out)["measured"] == 0);
  }

  TEST_CASE("a kernel is loaded though signals interrupt that") {
    const ProgramResult result =
        OddProgram("signals")({"--sizes", "8", "--device", "cpu", "--template", "gemm_tiled",
                               "--tile-width", "8", "--trials", "6", "--json"});
    CHECK(nlohmann::json::parse(result.out)["measured"] == 6);
    CHECK_FALSE(has(result.out, "load_failed"));
    CHECK_FALSE(has(result.out, "loaded"));
  }

  TEST_CASE("a slow disk is told, and does not wait once for each row") {
    if (!can_compile()) return;
    const OddProgram program("slow");
    const ProgramResult result = program(kTune);
    CHECK(result.exit_code == kSuccess);
    double waited_s = 0;
    const std::size_t at = result.err.find("storing the results took");
    REQUIRE(at != std::string::npos);
    REQUIRE(std::sscanf(result.err.c_str() + at, "storing the results took %lf s", &waited_s) == 1);
    CHECK(waited_s < 12);  // two transactions
    CHECK(nlohmann::json::parse(program(kTune).out)["measured"] == 0);
  }

  TEST_CASE("a slow disk takes nothing from the budget for a new database") {
    if (!can_compile()) return;
    const auto start = std::chrono::steady_clock::now();
    const ProgramResult result = OddProgram("slow")(kTune);
    const std::chrono::duration<double> all_s = std::chrono::steady_clock::now() - start;
    double waited_s = 0;
    const std::size_t at = result.err.find("opening the database took");
    REQUIRE(at != std::string::npos);
    REQUIRE(std::sscanf(result.err.c_str() + at, "opening the database took %lf", &waited_s) == 1);
    CHECK(waited_s < 3);  // not five times 0.7 s
    CHECK(all_s.count() - nlohmann::json::parse(result.out)["wall_s"].get<double>() > 2);
  }

  TEST_CASE("where no file can be locked the results are printed, and why they are not kept") {
    if (!can_compile()) return;
    const ProgramResult result = OddProgram("nolocks")(kTune);
    CHECK(result.exit_code == kNotStored);
    CHECK(lines(result.err) == 2);  // SQLite takes it for a lock, which is waited for
    CHECK(has(result.err, "results of this run will not be kept"));
    CHECK(nlohmann::json::parse(result.out)["measured"] == 8);
  }

  TEST_CASE(
      "where the disk's quota is used up the results are printed, and why they are not kept") {
    if (!can_compile()) return;
    const ProgramResult result = OddProgram("quota")(kTune);
    CHECK(result.exit_code == kNotStored);
    check_line(result, "check the disk, its quota and ulimit -f");
    CHECK(nlohmann::json::parse(result.out)["measured"] == 8);
  }

  TEST_CASE("where nobody may ask for permissions, results are kept") {
    const OddProgram program("access");
    const ProgramResult result = program({"--sizes", "8", "--device", "cpu", "--trials", "1"});
    CHECK_MESSAGE(result.exit_code == kSuccess, result.err);
    CHECK(trials_in(program.database) == 1);
  }

  TEST_CASE("where no thread or no program can be started, a line says which") {
    const std::vector<std::string> tune = {"--sizes", "8", "--device", "cpu", "--trials", "1"};
    const ProgramResult threads = OddProgram("threads")(tune);
    CHECK(threads.exit_code == kEnvironment);
    check_line(threads, "no thread can be started");
    const ProgramResult null = OddProgram("nonull")(tune);
    CHECK(null.exit_code == kEnvironment);
    check_line(null, "/dev/null: No such file or directory");
  }

  TEST_CASE("in a folder that was deleted, a database without a whole path is told") {
    const Program program;
    const std::string folder = program.folder.path() / "gone";
    const std::string script = "mkdir " + folder + " && cd " + folder + " && rmdir " + folder +
                               " && exec " AUTOTUNE_PROGRAM " \"$@\"";
    for (const char* command : {"tune", "query"}) {
      CAPTURE(command);
      const ProgramResult result = run_program(
          "/bin/sh",
          {"-c", script, "sh", command, "--sizes", "8", "--device", "cpu", "--db", "rel.db"},
          program.environment);
      CHECK(result.exit_code == kUsage);
      check_line(result, "--db: rel.db: the current folder was deleted");
    }
  }

  TEST_CASE("without a home, or with one that takes no files, everything works in memory") {
    const std::vector<std::string> tune = {"--sizes", "8", "--device", "cpu", "--trials", "1"};
    const std::pair<const char*, const char*> homes[] = {
        {"", "no place for the database: set AUTOTUNE_DB"},
        {"/proc/none", "its folder cannot be made"}};
    for (const auto& [home, says] : homes) {
      CAPTURE(home);
      Program program;
      program.environment.erase(program.environment.begin(), program.environment.begin() + 2);
      for (const char* unset : {"AUTOTUNE_DB", "XDG_DATA_HOME", "XDG_CACHE_HOME"}) {
        program.environment.emplace_back(unset, "");
      }
      program.environment.emplace_back("HOME", home);
      const ProgramResult result = program(tune);
      CHECK(result.exit_code == kNotStored);
      check_line(result, says);
      CHECK(has(result.out, "1 measured"));
      CHECK(program({"query", "--device", "NVIDIA H200", "--sizes", "2048"}).exit_code == 0);
    }
  }

  TEST_CASE("compiled kernels that cannot be kept cost nothing but the time to compile") {
    Program program;
    program.environment[1] = {"XDG_CACHE_HOME", "/proc/none"};
    const ProgramResult result = program({"--sizes", "8", "--device", "cpu", "--trials", "1"});
    CHECK(result.exit_code == kSuccess);
    CHECK(trials_in(program.database) == 1);
    const ProgramResult doctor = program({"doctor"});
    CHECK(has(doctor.out, "set XDG_CACHE_HOME to a folder that can be written"));
  }

  // SQLite takes fewer bytes than the system.
  TEST_CASE("a path that is too long for SQLite is told, and nothing is made there") {
    Program program;
    std::filesystem::path folder = program.folder.path();
    for (const std::size_t total : {500, 512, 4000, 4200}) {
      while (folder.string().size() + 100 < total) folder /= std::string(99, 'x');
      folder /= std::string(total - folder.string().size() - 6, 'y');
      program.environment.front() = {"AUTOTUNE_DB", folder / "a.db"};
      std::error_code ignored;  // the last one is too long for the system too
      std::filesystem::create_directories(folder, ignored);
      CAPTURE(total);
      const ProgramResult result = program({"--sizes", "8", "--device", "cpu", "--trials", "1"});
      CHECK(std::filesystem::exists(folder / "a.db", ignored) == (total == 500));
      CHECK(result.exit_code == (total == 500 ? kSuccess : kNotStored));
      if (total > 500) check_line(result, total < 4096 ? "SQLite takes 504" : "name too long");
      folder = folder.parent_path();
    }
  }

  TEST_CASE("a folder of AUTOTUNE_DB that does not exist is told, and not made") {
    Program program;
    const std::filesystem::path folder = program.folder.path() / "mistyped";
    program.environment.front() = {"AUTOTUNE_DB", folder / "a.db"};
    const std::string other = program.folder.path() / "other.db";
    const std::vector<std::string> tune = {"--sizes", "8", "--device", "cpu", "--trials", "1"};
    std::vector<std::string> tune_other = tune;
    tune_other.insert(tune_other.end(), {"--db", other});
    REQUIRE(program(tune_other).exit_code == kSuccess);
    for (const std::vector<std::string>& command : {tune, {"db", "merge", other}}) {
      const ProgramResult result = program(command);
      CHECK(result.exit_code == kUsage);
      check_line(result, "AUTOTUNE_DB: the folder '" + folder.string() +
                             "' does not exist: make it, or name another file, e.g. "
                             "AUTOTUNE_DB='a.db'");
      CHECK_FALSE(std::filesystem::exists(folder));
    }
    // The query is answered by what ships.
    const ProgramResult query = program({"query", "--device", "NVIDIA H200", "--sizes", "2048"});
    CHECK(query.exit_code == kSuccess);
    check_line(query, folder.string() +
                          "/a.db: its folder does not exist: make it, or name another "
                          "file in AUTOTUNE_DB; stored results are left out");
    CHECK_FALSE(std::filesystem::exists(folder));
  }

  TEST_CASE("a database may have any name, and one that is too long is told") {
    Program program;
    const std::vector<std::string> tune = {"--sizes", "8", "--device", "cpu", "--trials", "1"};
    const std::filesystem::path folder = program.folder.path() / "two\nlines and \xc3\xa4 space";
    std::filesystem::create_directory(folder);
    program.database = folder / "a.db";
    program.environment.front() = {"AUTOTUNE_DB", program.database};
    CHECK(program(tune).exit_code == kSuccess);
    CHECK(trials_in(program.database) == 1);
    CHECK(program({"db", "stats"}).exit_code == kSuccess);
    for (const std::size_t length : {300, 5000}) {
      program.environment.front() = {"AUTOTUNE_DB", "/" + std::string(length, 'x')};
      const ProgramResult result = program(tune);
      CHECK(result.exit_code == kNotStored);
      check_line(result, "File name too long");
      check_line(program({"db", "stats"}), "File name too long");
    }
  }

  TEST_CASE("with more rights than its caller, it heeds no variable that names code or files") {
    if (::geteuid() != 0) {
      std::printf("SKIPPED: no other user's program can be made\n");
      return;
    }
    Program program;
    program.environment.back() = {"AUTOTUNE_LIBCUDA", AUTOTUNE_FAKE_CUDA};
    const std::string copy = program.folder.path() / "autotune";
    const auto run = [&](const std::vector<std::string>& arguments) {
      return run_program(copy, arguments, program.environment);
    };
    std::filesystem::copy_file(AUTOTUNE_PROGRAM, copy);
    CHECK(has(run({"devices"}).out, "H200"));
    CHECK(has(run({"db", "path"}).out, program.database));
    constexpr uid_t kNobody = 65534;
    REQUIRE(::chown(copy.c_str(), kNobody, kNobody) == 0);
    REQUIRE(::chmod(copy.c_str(), 04755) == 0);
    CHECK_FALSE(has(run({"devices"}).out, "H200"));
    CHECK_FALSE(has(run({"db", "path"}).out, program.database));
  }
}

}  // namespace
}  // namespace autotune::test
