// autotune bench on the CPU device.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace autotune::test {
namespace {

using nlohmann::json;

const std::vector<std::string> kBench = {"bench", "--device", "cpu", "--sizes"};

std::vector<std::string> bench(const std::string& sizes, const std::vector<std::string>& more) {
  std::vector<std::string> arguments = kBench;
  arguments.push_back(sizes);
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

json bench_document(const ProgramResult& result) {
  CAPTURE(result.err);
  REQUIRE(result.exit_code == kSuccess);
  return json::parse(result.out);
}

// The verdict that docs/cli.md derives from an interval.
std::string verdict_of(const json& result) {
  if (result["speedup_low"] > 1.005) return "faster";
  return result["speedup_high"] < 1 / 1.005 ? "slower" : "no difference";
}

void check_comparison(const json& result) {
  CHECK(result["status"] == "ok");
  CHECK(result["integers_exact"] == true);
  CHECK(result["rounds"] == 7);
  CHECK(result["low_us"] <= result["median_us"]);
  CHECK(result["median_us"] <= result["high_us"]);
  CHECK(result["against"]["low_us"] <= result["against"]["median_us"]);
  CHECK(result["speedup_low"] <= result["speedup"]);
  CHECK(result["speedup"] <= result["speedup_high"]);
  // Intervals of seven rounds are their ranges, and so every round's speed-up lies between these.
  const json& against = result["against"];
  const auto quotient = [](const json& a, const json& b) {
    return a.get<double>() / b.get<double>();
  };
  CHECK(result["speedup_low"] >= doctest::Approx(quotient(against["low_us"], result["high_us"])));
  CHECK(result["speedup_high"] <= doctest::Approx(quotient(against["high_us"], result["low_us"])));
  CHECK(result["verdict"] == verdict_of(result));
}

void tune_little(const Program& program, const std::string& size) {
  const ProgramResult tuned = program({"--sizes", size, "--device", "cpu", "--tile-width", "8",
                                       "--results-per-thread", "2x1", "--trials", "2"});
  REQUIRE(tuned.exit_code == kSuccess);
}

TEST_SUITE("bench") {
  TEST_CASE("the stored winner is compared with a configuration, and nothing is stored") {
    const Program program;
    tune_little(program, "33");
    const std::string before = program({"db", "stats", "--json"}).out;
    const json document = bench_document(
        program(bench("33,16", {"--against", "TILE_WIDTH=8,RESULTS_M=1,RESULTS_N=1,UNROLL=1",
                                "--rounds", "7", "--json"})));
    CHECK(document["command"] == "bench");
    CHECK(document["measured"] == 2);
    CHECK(document["interrupted"] == false);
    REQUIRE(document["results"].size() == 2);
    for (const json& result : document["results"]) {
      check_comparison(result);
      CHECK(result["configuration"]["RESULTS_M"] == 2);
      CHECK(result["against"]["template"] == "gemm_tiled");
      CHECK(result["against"]["configuration"]["RESULTS_M"] == 1);
      CHECK(result["against"]["origin"] == "given");
    }
    CHECK(has(document["results"][0]["origin"], "tuned for this size"));
    CHECK(has(document["results"][1]["origin"], "33x33x33"));
    CHECK(program({"db", "stats", "--json"}).out == before);
  }

  TEST_CASE("a speed-up below the one that is asked for has an exit code of its own") {
    const Program program;
    const std::vector<std::string> rest = {"--against", "TILE_WIDTH=8", "--rounds",
                                           "6",         "--json",       "--fail-below"};
    const ProgramResult slower = program(bench("16", with(rest, {"1e6"})));
    CHECK(slower.exit_code == kSlower);
    CHECK(has(slower.err, "is below 1000000 (--fail-below)\n"));
    CHECK(json::parse(slower.out)["results"].size() == 1);
    CHECK(program(bench("16", with(rest, {"1e-6"}))).exit_code == kSuccess);
  }

  TEST_CASE("a database is compared with another") {
    const Program program;
    tune_little(program, "33");
    const json document =
        bench_document(program(bench("33", {"--no-shipped", "--against-database", program.database,
                                            "--rounds", "7", "--json"})));
    const json& result = document["results"][0];
    check_comparison(result);
    CHECK(result["against"]["configuration"] == result["configuration"]);
    CHECK(has(result["against"]["origin"], "tuned for this size"));

    const ProgramResult none =
        program(bench("33", {"--layout", "TT", "--against-database", program.database, "--json"}));
    CHECK(none.exit_code == kNothingStored);
    CHECK(has(none.err, "has nothing for 33x33x33"));
    CHECK(json::parse(none.out)["results"][0]["status"] == "nothing_stored");
  }

  TEST_CASE("a table says what was compared, and that nothing was stored") {
    const Program program;
    const ProgramResult result = program(bench("16", {"--against", "gemm_simt"}));
    CHECK(result.exit_code == kSuccess);
    CHECK(has(result.err,
              "16x16x16: gemm_tiled default: nothing is known of it: its default was timed\n"));
    CHECK(lines(result.out) == 4);
    CHECK(has(result.out, "gemm_tiled default"));
    CHECK(has(result.out, "gemm_simt default"));
    CHECK(has(result.out, "median of 15 rounds in turn\n"));
    CHECK_FALSE(std::filesystem::exists(program.database));
  }
}

}  // namespace
}  // namespace autotune::test
