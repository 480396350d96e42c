// The program on systems that are odd: clocks that jump, file systems without locks, long paths.
#include <nlohmann/json.hpp>

#include "tests/app/cli/fake_machine.hpp"

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

  TEST_CASE("where no file can be locked the results are printed, and why they are not kept") {
    if (!can_compile()) return;
    const ProgramResult result = OddProgram("nolocks")(kTune);
    CHECK(result.exit_code == kNotStored);
    CHECK(lines(result.err) == 1);
    CHECK(nlohmann::json::parse(result.out)["measured"] == 8);
  }

  TEST_CASE("a database may have any name, and one that is too long is told") {
    Program program;
    const std::vector<std::string> tune = {"--sizes", "8", "--device", "cpu", "--trials", "1"};
    program.database = program.folder.path() / "two\nlines and \xc3\xa4 space" / "a.db";
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
}

}  // namespace
}  // namespace autotune::test
