// The answers of query from shipped winners and portfolios.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/stored_winners.hpp"
#include "tests/support/portfolios.hpp"

namespace autotune::test {
namespace {

using nlohmann::json;

TEST_SUITE("query of what ships") {
  TEST_CASE("on a device with a portfolio a size nobody tuned gets a prediction") {
    const Program program;
    const std::vector<std::string> query = {"query", "--device", "NVIDIA H200", "--sizes",
                                            "1234x568x892"};
    const auto with = [&](const std::string& option) {
      std::vector<std::string> arguments = query;
      arguments.push_back(option);
      const ProgramResult result = program(arguments);
      CHECK(result.exit_code == 0);
      return result.out;
    };
    const bool has_portfolio = !built_in_portfolios().of(Math::strict).empty();
    const json entry = json::parse(with("--json"))["results"][0];
    CHECK(entry["median_us"].is_null());
    CHECK(entry.contains("predicted_us") == has_portfolio);
    CHECK(has(with("--explain"), " candidates\n") == has_portfolio);
    if (has_portfolio) {
      CHECK(entry["predicted_us"] > 0);
      CHECK(entry["predicted_error"] > 0);
      CHECK(has(with("--wide"), ", +-"));
      CHECK(has(with("--wide"), " ~"));
    }
    std::vector<std::string> exact = query;
    exact.emplace_back("--exact");
    CHECK(program(exact).exit_code != 0);
  }

  TEST_CASE("a device that is known by strict results alone gets predictions in any arithmetic") {
    const auto& portfolios = built_in_portfolios().of(Math::emulated);
    if (portfolios.empty()) return;  // they can be left out of the build
    const Program program;
    {
      Winner winner = winner_for(1024, 100);
      winner.device_class = portfolios.front().device_class;
      TuningDatabase::open(program.database).put_winners(std::vector{winner});
    }
    const ProgramResult result = program(
        {"query", "--device", "Test GPU", "--sizes", "1900", "--math", "emulated", "--json"});
    CAPTURE(result.err);
    REQUIRE(result.exit_code == 0);
    const json entry = json::parse(result.out)["results"][0];
    CHECK(entry["math"] == "emulated");
    CHECK(entry["predicted_us"] > 0);
  }

  TEST_CASE("shipped winners answer without a home, and beside a database that is none") {
    Program homeless;
    homeless.environment[0] = {"AUTOTUNE_DB", ""};
    homeless.environment.emplace_back("HOME", "");
    homeless.environment.emplace_back("XDG_DATA_HOME", "");
    Program damaged;
    std::filesystem::create_directories(std::filesystem::path(damaged.database).parent_path());
    std::ofstream(damaged.database) << "no database at all, however long the text is";
    for (const Program* program : {&homeless, &damaged}) {
      for (const char* command : {"query", "show", "analyze"}) {
        const ProgramResult result =
            (*program)({command, "--device", "NVIDIA H200", "--sizes", "1024"});
        CAPTURE(result.err);
        CHECK(result.exit_code == 0);
        CHECK(has(result.out, "gemm_tma"));
        CHECK(result.err.rfind("autotune: warning: ", 0) == 0);
        CHECK(has(result.err, "stored results are left out"));
      }
      CHECK((*program)({"db", "stats"}).exit_code == 2);
    }
  }

  TEST_CASE("a weaker math is answered by a stricter one's kernel where that is faster") {
    const Program program;
    for (const char* math : {"strict", "emulated", "tf32"}) {
      CAPTURE(math);
      const std::vector<std::string> asked = {"--device",    "NVIDIA H200", "--sizes",
                                              "1x4096x4096", "--math",      math};
      std::vector<std::string> query = {"query", "--json", "--exact"};
      query.insert(query.end(), asked.begin(), asked.end());
      const json answer = json::parse(program(query).out)["results"][0];
      CHECK(answer["match"] == "exact");
      CHECK(answer["math"] == "strict");
      CHECK(answer["template"] == "gemm_skinny");
      std::vector<std::string> show = {"show"};
      show.insert(show.end(), asked.begin(), asked.end());
      CHECK(program(show).out.find("gemm_skinny") != std::string::npos);
    }
  }

  TEST_CASE("the user's own winners alone answer without those that ship") {
    const StoredWinners program;
    CHECK(program({"query", "--device", "NVIDIA H200"}).exit_code == 0);
    const ProgramResult result = program({"query", "--device", "NVIDIA H200", "--no-shipped"});
    CHECK(result.exit_code == 4);
    CHECK(result.err.find("(Test GPU)") != std::string::npos);
    CHECK(program({"query", "--device", "Test GPU", "--no-shipped"}).exit_code == 0);
    CHECK(program({"show", "--device", "NVIDIA H200", "--sizes", "64", "--no-shipped"}).exit_code ==
          2);
    CHECK(program({"analyze", "--device", "NVIDIA H200", "--no-shipped"}).exit_code == 2);
  }
}

}  // namespace
}  // namespace autotune::test
