// The output of query, from databases that the test makes, without driver and NVRTC.
#include <algorithm>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/stored_winners.hpp"

namespace autotune::test {
namespace {

using nlohmann::json;

// Neither stream has a control character besides the ends of lines.
void check_plain(const ProgramResult& result) {
  for (const std::string& text : {result.out, result.err}) {
    CAPTURE(text);
    CHECK(std::all_of(text.begin(), text.end(), [](unsigned char c) {
      return c == '\n' || (c >= 0x20 && c != 0x7f && c != 0x9b);
    }));
  }
}

TEST_SUITE("query") {
  TEST_CASE("a configuration is shown by what differs from the default, or with --wide whole") {
    const Program program;
    Winner winner = winner_for(1024, 100);
    {
      TuningDatabase database = TuningDatabase::open(program.database);
      winner.configuration.set("UNROLL", winner.configuration.at("UNROLL") / 2);
      database.put_winners(std::vector{winner, winner_for(2048, 600)});
    }
    const std::string differs = "UNROLL=" + std::to_string(winner.configuration.at("UNROLL"));
    const std::vector<std::string> query = {"query", "--device", "Test GPU", "--no-shipped"};
    const ProgramResult brief = program(query);
    CHECK(has(brief.out, "gemm_tiled  " + differs + "\n"));
    CHECK(has(brief.out, "gemm_tiled  default\n"));

    std::vector<std::string> wide = query;
    wide.emplace_back("--wide");
    CHECK(has(program(wide).out, to_string(winner.configuration)));

    const ProgramResult shown = program({"show", "--sizes", "1024", "--arch", "sm_90", "--template",
                                         "gemm_tiled", "--config", differs});
    CHECK(has(shown.out, to_string(winner.configuration)));
  }

  TEST_CASE("without sizes, only what layout, batch and math choose is listed") {
    const Program program;
    const auto count = [&](const std::vector<std::string>& options) {
      const ProgramResult result = program(with({"query", "--device", "NVIDIA H200"}, options));
      return result.exit_code == kSuccess ? lines(result.out) - 2 : 0;  // the device, the header
    };
    const std::size_t all = count({});
    const std::size_t strict = count({"--math", "strict"});
    CHECK(strict > 0);
    CHECK(all == strict + count({"--math", "emulated"}) + count({"--math", "tf32"}));
    CHECK(all == count({"--layout", "NN"}) + count({"--layout", "NT"}) + count({"--layout", "TN"}) +
                     count({"--layout", "TT"}));
    CHECK(count({"--batch", "3"}) == 0);
    CHECK(has(program({"query", "--device", "NVIDIA H200"}).out, " tf32 "));
  }

  TEST_CASE("what query answers is what show and export take") {
    const Program program;
    const std::vector<std::string> asked = {"--device", "NVIDIA H200", "--sizes", "777x333x55"};
    const ProgramResult query = program(with({"query", "--json"}, asked));
    const json answer = json::parse(query.out)["results"][0];
    CHECK(answer["match"] == "predicted");
    const ProgramResult show = program(with({"show"}, asked));
    CHECK(has(show.out, answer["template"].get<std::string>()));
    CHECK(has(show.out, "predicted: "));
    // With --template, show takes the best that is predicted for that template.
    const ProgramResult of_one = program(with({"show", "--template", "gemm_tma"}, asked));
    CHECK(has(of_one.out, "gemm_tma"));
    CHECK(has(of_one.out, "predicted: "));
  }

  TEST_CASE("what a terminal would act upon is not printed, wherever it is from") {
    const Program program;
    const std::string evil = "GPU \033]0;owned\a\033[31m\xc2\x9b\n";
    {
      TuningDatabase database = TuningDatabase::open(program.database);
      Winner winner = winner_for(1024, 100);
      winner.device_label = winner.device_class = winner.measured_at = evil;
      database.put_winners(std::vector{winner});
    }
    for (const std::vector<std::string>& command :
         std::vector<std::vector<std::string>>{{"query", "--device", evil, "--explain"},
                                               {"query", "--device", "another"},
                                               {"query", "--device", evil, "--json"},
                                               {"db", "winners"},
                                               {"query", "--device", evil, "--sizes", evil},
                                               {evil},
                                               {"--" + evil, evil},
                                               {"analyze", "--device", evil, "--sizes", "64"},
                                               {"db", "path", "--db", evil},
                                               {"db", "stats", "--db", evil},
                                               {"db", "merge", evil},
                                               {"replay", evil}}) {
      check_plain(program(command));
    }
  }

  TEST_CASE("the golden document: an exact match, a near one") {
    const ProgramResult result = StoredWinners()(
        {"query", "--device", "test gpu", "--sizes", "1024,1500x1400x1300", "--json"});
    CHECK(result.exit_code == 0);
    CHECK(result.out == golden("query.json"));
  }

  TEST_CASE("an exact match comes with its figures") {
    const StoredWinners program;
    const ProgramResult result =
        program({"query", "--device", "test gpu", "--sizes", "1024", "--json"});
    REQUIRE(result.exit_code == 0);
    const json document = json::parse(result.out);
    CHECK(document["schema"] == 1);
    CHECK(document["command"] == "query");
    REQUIRE(document["results"].size() == 1);
    const json& entry = document["results"][0];
    CHECK(entry["match"] == "exact");
    CHECK(entry["m"] == 1024);
    CHECK(entry["status"] == "ok");
    CHECK(entry["median_us"] == 100.0);
    CHECK(entry["gflops"].get<double>() == doctest::Approx(2.0 * 1024 * 1024 * 1024 / 100 * 1e-3));
    CHECK(entry["configuration"]["TILE_WIDTH"] == 16);
    CHECK(entry["confirmed"] == true);
    CHECK(entry["shipped"] == false);
  }

  TEST_CASE("a size nobody tuned gets the nearest one and says so") {
    const StoredWinners program;
    const ProgramResult result =
        program({"query", "--device", "Test GPU", "--sizes", "1900", "--json"});
    REQUIRE(result.exit_code == 0);
    const json entry = json::parse(result.out)["results"][0];
    CHECK(entry["match"] == "nearest size");
    CHECK(entry["m"] == 1900);
    CHECK(entry["tuned_for"] == "2048x2048x2048");
    // The figures are not of this size.
    for (const char* figure : {"median_us", "gflops"}) CHECK(entry[figure].is_null());
    for (const char* figure : {"low_us", "high_us", "confirmed", "integers_exact", "measured_at"}) {
      CHECK_FALSE(entry.contains(figure));
    }
    CHECK(has(program({"query", "--device", "Test GPU", "--sizes", "1900"}).out,
              "nearest size 2048x2048x2048        -"));
    const ProgramResult csv =
        program({"query", "--device", "Test GPU", "--sizes", "1900", "--csv"});
    CHECK(has(csv.out,
              "\n1900,1900,1900,NN,strict,ok,nearest size,2048x2048x2048,Test GPU,"
              "gemm_tiled,\"TILE_WIDTH="));
    CHECK(csv.out.ends_with("\",,,,,,,,,,\n"));
  }

  TEST_CASE("a part of a name is enough where it means one device") {
    const StoredWinners program;
    for (const char* name : {"h200", "test", "NVIDIA H2", "TEST GPU"}) {
      CAPTURE(name);
      const ProgramResult result = program({"query", "--device", name, "--sizes", "1024"});
      CHECK(result.exit_code == 0);
      CHECK((result.out.rfind("NVIDIA H200\n", 0) == 0 || result.out.rfind("Test GPU\n", 0) == 0));
    }
    for (const char* name : {" ", "NVIDIA"}) {  // of two devices
      const ProgramResult both = program({"query", "--device", name, "--sizes", "1024"});
      CHECK(both.exit_code == kUsage);
      CHECK(has(both.err, std::string("--device: '") + name + "' is part of "));
      CHECK(has(both.err, "names: NVIDIA H100 80GB HBM3, NVIDIA H200"));
    }
  }

  TEST_CASE("a problem that the device's memory cannot hold has no answer, and the others have") {
    const Program program;
    const std::vector<std::string> query = {"query", "--device", "H200", "--sizes"};
    const ProgramResult text = program(with(query, {"2147483647,2048"}));
    CHECK(text.exit_code == kEnvironment);
    CHECK(has(text.err, "2147483647x2147483647x2147483647 does not fit in the device's memory"));
    CHECK(has(text.out, "too large"));
    CHECK(has(text.out, "exact"));
    const json results = json::parse(program(with(query, {"2147483647", "--json"})).out)["results"];
    CHECK(results[0]["status"] == "too_large");
    CHECK(results[0]["match"] == "none");
    // Two and a half seconds.
    const ProgramResult long_one = program(with(query, {"40000"}));
    CHECK(long_one.exit_code == kSuccess);
    CHECK(has(long_one.out, " s  "));
    CHECK_FALSE(has(long_one.out, "time us"));
  }

  TEST_CASE("static and dynamic shared memory have names of their own") {
    const Program program;
    const ProgramResult result =
        program({"query", "--device", "NVIDIA H200", "--sizes", "2048", "--json"});
    const json entry = json::parse(result.out)["results"][0];
    CHECK(entry["static_shared_bytes"] == 0);
    CHECK(entry["dynamic_shared_bytes"] == 198720);
    CHECK_FALSE(entry.contains("shared_bytes"));
  }

  TEST_CASE("show and analyze take the best of the template that is named") {
    const Program program;
    const std::vector<std::string> h200 = {"--device", "NVIDIA H200", "--sizes", "1024"};
    for (const char* command : {"show", "analyze"}) {
      for (const std::string name : {"gemm_tma", "gemm_simt", "gemm_tiled"}) {
        std::vector<std::string> arguments = {command, "--template", name};
        arguments.insert(arguments.end(), h200.begin(), h200.end());
        const ProgramResult result = program(arguments);
        CAPTURE(result.err);
        CHECK(result.exit_code == 0);
        const std::size_t line = result.out.find("\ntemplate ");
        REQUIRE(line != std::string::npos);
        CHECK(result.out.substr(line, result.out.find('\n', line + 1) - line).ends_with(name));
      }
    }
  }

  TEST_CASE("bytes that are not UTF-8 are printed as such in JSON") {
    const Program program;
    const ProgramResult result = program({"query", "--device", "\xff", "--sizes", "64", "--json"});
    CHECK(result.exit_code == 4);
    CHECK(json::parse(result.out)["device"]["label"] == "\xef\xbf\xbd");
  }

  TEST_CASE("a limit of the error chooses among the results of every arithmetic") {
    const Program program;
    {
      TuningDatabase opened = TuningDatabase::open(program.database);
      Winner strict = winner_for(1024, 100);
      strict.verification = {.error_bound = 132, .frobenius_error = 5e-7};
      Winner tf32 = winner_for(1024, 20);
      tf32.problem = GemmProblem{.m = 1024, .n = 1024, .k = 1024, .math = Math::tf32};
      tf32.verification = {.error_bound = 4228, .frobenius_error = 3e-4};
      const Winner winners[] = {strict, tf32};
      opened.put_winners(winners);
    }
    const auto math_of = [&](const std::vector<std::string>& more) {
      std::vector<std::string> arguments = {"query",   "--device", "Test GPU",
                                            "--sizes", "1024",     "--json"};
      arguments.insert(arguments.end(), more.begin(), more.end());
      const ProgramResult result = program(arguments);
      if (result.exit_code != kSuccess) return std::to_string(result.exit_code);
      return json::parse(result.out)["results"][0]["math"].get<std::string>();
    };
    CHECK(math_of({}) == "strict");
    CHECK(math_of({"--max-error", "1e-3"}) == "tf32");
    CHECK(math_of({"--max-error", "1e-6"}) == "strict");
    CHECK(math_of({"--max-error", "1e-7"}) == "4");
    CHECK(math_of({"--max-error", "1e-6", "--math", "tf32"}) == "strict");
    CHECK(math_of({"--max-error", "1e-3", "--math", "strict"}) == "strict");
  }

  TEST_CASE("exact refuses what is only near") {
    const StoredWinners program;
    const ProgramResult result =
        program({"query", "--device", "Test GPU", "--sizes", "1900", "--exact"});
    CHECK(result.exit_code == 4);
    CHECK(has(result.err, "nothing is stored for these exact sizes of Test GPU: tune them, or"));
    const ProgramResult some =
        program({"query", "--device", "Test GPU", "--sizes", "1900,2048", "--exact"});
    CHECK(some.exit_code == 4);
    CHECK(has(some.err, "nothing is stored for some of these exact sizes of Test GPU: tune them"));
  }

  TEST_CASE("without sizes all of the device are listed") {
    const StoredWinners program;
    const ProgramResult result = program({"query", "--device", "Test GPU"});
    CHECK(result.exit_code == 0);
    CHECK(result.out.find("1024x1024x1024") != std::string::npos);
    CHECK(result.out.find("2048x2048x2048") != std::string::npos);
  }

  TEST_CASE("another layout is another problem") {
    const StoredWinners program;
    CHECK(
        program({"query", "--device", "Test GPU", "--sizes", "1024", "--layout", "TN"}).exit_code ==
        4);
  }

  TEST_CASE("explain says where an answer is from") {
    const StoredWinners program;
    const ProgramResult result =
        program({"query", "--device", "Test GPU", "--sizes", "1024", "--explain"});
    CHECK(result.out.find("tuned for this size") != std::string::npos);
    CHECK(result.out.find("from the database") != std::string::npos);
    CHECK(result.out.find("2026-01-02T03:04:05Z") != std::string::npos);
  }

  TEST_CASE("explain leaves out what is unknown of a library's time") {
    const StoredWinners program;
    Winner winner = winner_for(1024, 10);
    winner.baseline = {.library = "cublas", .median_us = 12, .speedup = 1.2};
    TuningDatabase::open(program.database).put_winners({&winner, 1});
    const ProgramResult result =
        program({"query", "--device", "Test GPU", "--sizes", "1024", "--explain"});
    CAPTURE(result.out);
    CHECK(has(result.out, "\n  cublas: 12.0 us, 1.200 times as long, "));
  }

  TEST_CASE("a winner of another source is stale") {
    const StoredWinners program;
    Winner winner = winner_for(512, 10);
    winner.source_hash = "other";
    TuningDatabase::open(program.database).put_winners({&winner, 1});
    const ProgramResult result =
        program({"query", "--device", "Test GPU", "--sizes", "512", "--json"});
    REQUIRE(result.exit_code == 0);
    CHECK(json::parse(result.out)["results"][0]["match"] == "exact, stale");
  }

  TEST_CASE("asking writes nothing") {
    const StoredWinners program;
    const auto before = std::filesystem::last_write_time(program.database);
    CHECK(program({"query", "--device", "Test GPU", "--sizes", "1024"}).exit_code == 0);
    CHECK(std::filesystem::last_write_time(program.database) == before);
  }
}

}  // namespace
}  // namespace autotune::test
