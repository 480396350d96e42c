// The output of db export and of replay, and that replay reads what db export wrote.
#include <fstream>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "autotune/problem.hpp"

#include "core/posix/file_descriptor.hpp"
#include "db/tuning_database.hpp"
#include "tests/cli/program.hpp"
#include "tests/cli/running_program.hpp"
#include "tuner/replay/recorded_space.hpp"

namespace autotune::test {
namespace {

using nlohmann::json;

Trial trial_with(std::int64_t size, std::int64_t tile, double median_us) {
  Trial trial;
  trial.problem = GemmProblem{.m = size, .n = size, .k = size};
  trial.template_name = "gemm_tiled";
  trial.configuration = Configuration({{"TILE_WIDTH", tile}, {"RESULTS_M", 2}});
  trial.measurement.samples_us = {median_us + 0.5, median_us, median_us - 0.25};
  trial.measurement.median_us = median_us;
  trial.resources.compile_ms = 12.5;
  return trial;
}

Trial failed_trial(std::int64_t size, std::int64_t tile, TrialStatus status) {
  Trial trial = trial_with(size, tile, 0);
  trial.measurement = {};
  trial.status = status;
  trial.detail = "it said \"no\", and ended";
  return trial;
}

// A database with two problems on one device, and one of another template on another.
struct StoredTrials : Program {
  StoredTrials() {
    TuningDatabase opened = TuningDatabase::open(database);
    const Trial trials[] = {trial_with(1024, 8, 200), trial_with(1024, 16, 100),
                            failed_trial(1024, 32, TrialStatus::out_of_bounds),
                            trial_with(2048, 16, 800)};
    opened.add_trials({.device_class = "sm_90/132sm/test",
                       .template_name = "gemm_tiled",
                       .space_version = 1,
                       .source_hash = "abc",
                       .environment = {"580.1", "13.0.88", "0.1.0", 1}},
                      {"run 1", "Test GPU, rev. 2", "GPU-1", "autotune --sizes 1024,2048",
                       "2026-01-02T03:04:05Z"},
                      trials);
    Trial other = trial_with(1024, 8, 300);
    other.configuration = Configuration({{"STAGES", 3}});
    opened.add_trials(
        {.device_class = "sm_80/108sm/test",
         .template_name = "gemm_simt",
         .space_version = 1,
         .source_hash = "def",
         .environment = {"580.1", "13.0.88", "0.1.0", 1}},
        {"run 2", "Other GPU", "GPU-2", "autotune --sizes 1024", "2026-01-02T03:04:06Z"},
        {&other, 1});
  }

  [[nodiscard]] ProgramResult exported(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"db", "export", "--format"});
    return (*this)(arguments);
  }
};

// Everything that replays depend on.
std::string text_of(const std::vector<RecordedSpace>& spaces) {
  std::string text;
  for (const RecordedSpace& space : spaces) {
    text += space.name + "\n";
    for (std::size_t i = 0; i < space.outcomes.size(); ++i) {
      const auto& [status, us] = space.outcomes[i];
      text += to_string(space.configurations[i]) + " " +
              (status == TrialStatus::ok ? "ok" : "failed") + " " + std::to_string(us) + "\n";
    }
  }
  return text;
}

TEST_SUITE("db export") {
  TEST_CASE("the golden documents") {
    const StoredTrials program;
    CHECK(program.exported({"t4"}).out == golden("export.t4.json"));
    CHECK(program.exported({"json"}).out == golden("export.json"));
    CHECK(program.exported({"csv"}).out == golden("export.csv"));
  }

  TEST_CASE("what was exported is read again, in both forms, compressed too") {
    const StoredTrials program;
    const std::string expected =
        "1024x1024x1024 gemm_tiled on Test GPU, rev. 2\n"
        "TILE_WIDTH=8,RESULTS_M=2 ok 200.000000\n"
        "TILE_WIDTH=16,RESULTS_M=2 ok 100.000000\n"
        "TILE_WIDTH=32,RESULTS_M=2 failed 0.000000\n"
        "2048x2048x2048 gemm_tiled on Test GPU, rev. 2\n"
        "TILE_WIDTH=16,RESULTS_M=2 ok 800.000000\n"
        "1024x1024x1024 gemm_simt on Other GPU\n"
        "STAGES=3 ok 300.000000\n";
    for (const char* format : {"t4", "json"}) {
      for (const char* name : {"trials.json", "trials.json.zst"}) {
        for (const char* samples : {"", "--no-samples"}) {
          CAPTURE(format);
          CAPTURE(name);
          const std::string path = program.folder.path() / name;
          std::vector<std::string> arguments = {format, "--output", path};
          if (*samples != '\0') arguments.emplace_back(samples);
          const ProgramResult result = program.exported(arguments);
          CHECK(result.exit_code == 0);
          CHECK(result.out == "");
          const auto bytes = std::to_string(std::filesystem::file_size(path));
          CHECK(result.err.rfind("autotune: wrote 5 trials to " + path + " (", 0) == 0);
          CHECK(has(result.err, path + " (" + bytes + " bytes)\n"));
          CHECK(text_of(read_recorded_spaces(path, built_in_kernels())) == expected);
        }
      }
    }
  }

  TEST_CASE("T4 has what schema 1.0.0 requires, of the types that it requires") {
    const json document = json::parse(StoredTrials().exported({"t4"}).out);
    CHECK(document.at("schema_version") == "1.0.0");
    REQUIRE(document.at("results").size() == 5);
    for (const json& result : document["results"]) {
      CHECK(result.at("timestamp").is_string());
      CHECK(result.at("configuration").is_object());
      CHECK(result.at("objectives").is_array());
      CHECK(result.at("times").is_object());
      CHECK(result.at("times").at("runtimes").is_array());
      CHECK(result.at("times").at("compilation_time").is_number());
      CHECK(result.at("correctness").is_number());
      for (const json& measurement : result.at("measurements")) {
        CHECK(measurement.at("name").is_string());
        CHECK(measurement.at("value").is_number());
        CHECK(measurement.at("unit").is_string());
      }
    }
    CHECK(document["results"][0]["times"]["runtimes"] == json({200.5, 200.0, 199.75}));
    CHECK(document["results"][2]["invalidity"] == "correctness");
    CHECK(document["results"][2]["measurements"].empty());
  }

  TEST_CASE("samples can be left out, and only they") {
    const StoredTrials program;
    json with = json::parse(program.exported({"json"}).out);
    const json without = json::parse(program.exported({"json", "--no-samples"}).out);
    CHECK(with != without);
    for (json& trial : with["trials"]) trial["measurement"]["samples_us"] = json::array();
    CHECK(with == without);
    CHECK_FALSE(has(program.exported({"t4", "--no-samples"}).out, "runtimes"));
  }

  TEST_CASE("filters leave what was asked for; nothing left is exit code 4") {
    const StoredTrials program;
    const auto count = [&](const std::vector<std::string>& filter) {
      std::vector<std::string> arguments = {"json"};
      arguments.insert(arguments.end(), filter.begin(), filter.end());
      return json::parse(program.exported(arguments).out)["trials"].size();
    };
    CHECK(count({}) == 5);
    CHECK(count({"--template", "gemm_simt"}) == 1);
    CHECK(count({"--sizes", "2048"}) == 1);
    CHECK(count({"--sizes", "2048,1024"}) == 5);
    CHECK(count({"--device", "test gpu, REV. 2"}) == 4);
    CHECK(count({"--device", "Other GPU", "--sizes", "1024"}) == 1);
    const ProgramResult none = program.exported({"json", "--sizes", "512"});
    CHECK(none.exit_code == 4);
    CHECK(none.out == "");
    CHECK(lines(none.err) == 1);
  }

  TEST_CASE("wrong requests leave no file behind") {
    const StoredTrials program;
    CHECK(has(program.exported({"xml"}).err, "t4, json, csv"));
    const std::string path = program.folder.path() / "none" / "trials.json";
    const ProgramResult result = program.exported({"json", "--output", path});
    CHECK(result.exit_code == 2);
    CHECK(has(result.err, path));
    CHECK_FALSE(std::filesystem::exists(program.folder.path() / "none"));
  }
}

TEST_SUITE("replay") {
  TEST_CASE("the golden document: two problems in their order, and their average") {
    const StoredTrials program;
    const std::string path = program.folder.path() / "trials.json";
    REQUIRE(program.exported({"t4", "--template", "gemm_tiled", "--output", path}).exit_code == 0);
    const ProgramResult result = program(
        {"replay", path, "--strategy", "exhaustive", "--trials", "1", "--repeats", "2", "--json"});
    CHECK(result.exit_code == 0);
    CHECK(result.out == golden("replay.json"));
  }

  TEST_CASE("tables have a block for each space and one for all") {
    const StoredTrials program;
    const std::string path = program.folder.path() / "trials.json";
    REQUIRE(program.exported({"json", "--output", path}).exit_code == 0);
    const ProgramResult all =
        program({"replay", path, kRecording, "--strategy", "random,exhaustive"});
    CHECK(all.exit_code == 0);
    CHECK(all.err == "");
    CHECK(has(all.out, "1024x1024x1024 gemm_tiled on Test GPU, rev. 2: 3 configurations, 2 "));
    CHECK(has(all.out, "64x64x65536 gemm_simt on NVIDIA H200: 342 configurations, 288 correct"));
    CHECK(has(all.out, "average of 4 spaces"));
    CHECK(all.out.find("random") < all.out.find("exhaustive"));
    const ProgramResult one = program({"replay", path, "--sizes", "2048", "--trials", "10"});
    CHECK(has(one.out, "2048x2048x2048"));
    CHECK_FALSE(has(one.out, "1024x1024x1024"));
    CHECK_FALSE(has(one.out, "average"));
  }

  TEST_CASE("nothing is said of the runs that --until ended where it ended none") {
    const Program program;
    // All configurations are within 1 % of each other: a run ends as soon as it may.
    json cache = {{"kernel_name", "flat"}, {"tune_params_keys", {"X"}}, {"objective", "time"}};
    for (int x = 0; x < 100; ++x) {
      cache["cache"][std::to_string(x)] = {{"X", x}, {"time", 1 + x * 37 % 100 * 1e-4}};
    }
    const std::string path = program.folder.path() / "flat.json";
    std::ofstream(path) << cache;
    const auto until = [&](const char* trials) {
      const ProgramResult result = program({"replay", path, "--strategy", "model", "--trials",
                                            trials, "--repeats", "2", "--until", "98%", "--json"});
      return json::parse(result.out)["spaces"][0]["strategies"][0]["until"];
    };
    CHECK(until("5") == json({{"ended", 0.0}, {"mean_trials", nullptr}, {"right", nullptr}}));
    CHECK(until("90") == json({{"ended", 1.0}, {"mean_trials", 20.0}, {"right", 1.0}}));
  }

  TEST_CASE("--known begins with the winners of other recordings of the same kernel") {
    const StoredTrials program;
    const std::string path = program.folder.path() / "trials.json";
    REQUIRE(program.exported({"json", "--output", path}).exit_code == 0);
    const std::vector<std::string> how = {"--strategy", "exhaustive", "--trials", "1",
                                          "--sizes",    "1024",       "--json"};
    const auto first = [&](std::vector<std::string> arguments) {
      arguments.insert(arguments.begin(), {"replay", path});
      arguments.insert(arguments.end(), how.begin(), how.end());
      return json::parse(program(arguments).out)["spaces"][0];
    };
    CHECK(first({})["strategies"][0]["curve"][0]["mean"] == 0.5);
    const json known = first({"--known", path});
    CHECK(known["known"] == 1);
    CHECK(known["strategies"][0]["curve"][0]["mean"] == 1.0);
    CHECK(has(program({"replay", path, "--strategy", "exhaustive", "--known", path}).out,
              "3 configurations, 2 correct, 1 known\n"));
    const ProgramResult refused = program({"replay", path, "--known", kRecording});
    CHECK(refused.exit_code == 2);
    CHECK(has(refused.err, "--known: no other recording of the same kernel"));
  }

  TEST_CASE("the same seed prints the same, another one not") {
    const Program program;
    const auto printed = [&](const char* seed) {
      return program(
                 {"replay", kRecording, "--strategy", "random", "--repeats", "20", "--seed", seed})
          .out;
    };
    CHECK(printed("1") == printed("1"));
    CHECK(printed("1") != printed("2"));
  }

  TEST_CASE("it needs no database, and makes none") {
    const Program program;
    CHECK(program({"replay", kRecording, "--repeats", "2"}).exit_code == 0);
    CHECK_FALSE(std::filesystem::exists(program.database));
  }

  TEST_CASE("standard input and pipes are read, compressed too") {
    const Program program;
    const std::string how = " --strategy random --trials 5 --repeats 1 --json";
    const auto shell = [&](const std::string& line) {
      return run_program("/bin/sh", {"-c", line, AUTOTUNE_PROGRAM, kRecording},
                         program.environment);
    };
    const ProgramResult expected = shell("exec \"$0\" replay \"$1\"" + how);
    REQUIRE(expected.exit_code == kSuccess);
    for (const char* line : {"cat \"$1\" | \"$0\" replay -", "\"$0\" replay - < \"$1\"",
                             "zstdcat \"$1\" | \"$0\" replay /dev/stdin",
                             "cat \"$1\" | \"$0\" replay /proc/self/fd/0"}) {
      if (has(line, "zstdcat") && shell("command -v zstdcat").exit_code != 0) continue;
      CAPTURE(line);
      CHECK(shell(line + how).out == expected.out);
    }
    CHECK(has(shell("\"$0\" replay - < /dev/null").err, "autotune: -: is a device"));
    CHECK(has(shell("printf '' | \"$0\" replay -").err, "autotune: -: is empty"));
  }

  TEST_CASE("one signal ends the wait for the writer of a pipe") {
    const Program program;
    const std::string pipe = program.folder.path() / "pipe";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    RunningProgram running(program, {"replay", pipe});
    // A writer that can open the pipe has met its reader.
    FileDescriptor writer;
    while (writer.get() < 0) writer = FileDescriptor(::open(pipe.c_str(), O_WRONLY | O_NONBLOCK));
    CHECK(running.finish_with(SIGTERM).exit_code == 1000 + SIGTERM);
  }
}

}  // namespace
}  // namespace autotune::test
