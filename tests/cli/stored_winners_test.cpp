// The output of db about stored winners, help and version.
#include "tests/cli/stored_winners.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace autotune::test {
namespace {

using nlohmann::json;

TEST_SUITE("db") {
  TEST_CASE("stats count what is stored") {
    const StoredWinners program;
    const ProgramResult result = program({"db", "stats", "--json"});
    REQUIRE(result.exit_code == 0);
    const json document = json::parse(result.out);
    CHECK(document["winners"] == 2);
    CHECK(document["trials"] == 0);
    CHECK(document["path"] == program.database);
  }

  TEST_CASE("winners come as lines that read back") {
    const StoredWinners program;
    const ProgramResult result = program({"db", "winners"});
    REQUIRE(lines(result.out) == 2);
    const json first = json::parse(result.out.substr(0, result.out.find('\n')));
    CHECK(first["problem"] == "gemm m=1024 n=1024 k=1024 type=f32 layout=NN math=strict");
    CHECK(first["template"] == "gemm_tiled");
  }

  TEST_CASE("path prints where the database lies") {
    const Program program;
    CHECK(program({"db", "path"}).out == program.database + "\n");
  }
}

TEST_SUITE("program") {
  TEST_CASE("help and version end well") {
    const Program program;
    const ProgramResult help = program({"--help"});
    CHECK(help.exit_code == 0);
    for (const char* command : {"tune", "query", "show", "run", "sweep", "analyze", "devices",
                                "doctor", "db", "replay"}) {
      CHECK(help.out.find(command) != std::string::npos);
    }
    const ProgramResult version = program({"--version"});
    CHECK(version.exit_code == 0);
    CHECK(version.out.rfind("autotune ", 0) == 0);
    CHECK(version.out.find("SQLite ") != std::string::npos);
    CHECK_FALSE(has(version.out, "driver"));
    CHECK(has(help.out, "--version"));
    for (const std::vector<std::string>& order :
         {std::vector<std::string>{"--version", "--json"}, {"--json", "--version"}}) {
      const json document = json::parse(program(order).out);
      CHECK(document["command"] == "version");
      CHECK(has(version.out, "autotune " + document["autotune"].get<std::string>() + "\n"));
      CHECK(has(version.out, "SQLite " + document["sqlite"].get<std::string>() + "\n"));
    }
  }

  TEST_CASE("help and query run without NVRTC") {
    StoredWinners program;
    program.environment.emplace_back("AUTOTUNE_NVRTC", "/nonexistent/libnvrtc.so");
    CHECK(program({"--help"}).exit_code == 0);
    CHECK(program({"query", "--device", "Test GPU", "--sizes", "1024"}).exit_code == 0);
    CHECK(program({"--version"}).out.find("NVRTC not found") != std::string::npos);
  }
}

}  // namespace
}  // namespace autotune::test
