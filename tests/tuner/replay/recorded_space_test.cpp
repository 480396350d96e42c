// Files of recorded results, as several programs write them, and other files.
#include "tuner/replay/recorded_space.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>

#include <doctest/doctest.h>

#include "autotune/error.hpp"

#include "core/compression.hpp"
#include "tests/support/run_program.hpp"

namespace autotune {
namespace {

const std::string kData = AUTOTUNE_SOURCE_DIR "/tests/data/";

// A file with this content, read.
std::vector<RecordedSpace> read_text(const std::string& text) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() / "recorded.json";
  std::ofstream(path, std::ios::binary) << text;
  return read_recorded_spaces(path, built_in_kernels());
}

std::string gzipped(const std::string& text) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() / "text";
  std::ofstream(path, std::ios::binary) << text;
  return test::run_program("/bin/gzip", {"--stdout", path}, {}).out;
}

std::string refusal(const std::string& text) {
  try {
    static_cast<void>(read_text(text));
  } catch (const UsageError& error) {
    return error.what();
  }
  return "read";
}

std::string t4(const std::string& results) {
  return R"({"schema_version": "1.0.0", "results": [)" + results + "]}";
}

// A result with these members, and what the schema asks for.
std::string result(const std::string& configuration, const std::string& rest) {
  return R"({"configuration": )" + configuration + R"(, "times": {}, "correctness": 1, )" + rest +
         "}";
}

std::string ran(const std::string& configuration, double time) {
  return result(configuration, R"("invalidity": "correct", "measurements": [{"name": "time",)"
                               R"( "unit": "us", "value": )" +
                                   std::to_string(time) + "}]");
}

// A cache file of Kernel Tuner with one parameter.
std::string cache(const std::string& objective, const std::string& entries) {
  return R"({"tune_params_keys": ["A"], "objective": )" + objective + R"(, "cache": {)" + entries +
         "}}";
}

// Pearson's correlation of two rows of figures, -1 to 1.
double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const auto count = static_cast<double>(a.size());
  const double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / count;
  const double mean_b = std::accumulate(b.begin(), b.end(), 0.0) / count;
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return ab / std::sqrt(aa * bb);
}

TEST_SUITE("recorded spaces") {
  TEST_CASE("estimated rates of a template are in line with the measured ones") {
    const auto spaces =
        read_recorded_spaces(kData + "h200-gemm_simt.t4.json.zst", built_in_kernels());
    REQUIRE(spaces.size() == 4);
    for (const RecordedSpace& space : spaces) {
      CAPTURE(space.name);
      const Prior estimate = prior_for(space);
      REQUIRE(estimate);
      std::vector<double> estimated;
      std::vector<double> measured;
      for (std::size_t i = 0; i < space.outcomes.size(); ++i) {
        if (space.outcomes[i].status != TrialStatus::ok) continue;
        estimated.push_back(1 / estimate(i));
        measured.push_back(1 / space.outcomes[i].us);
      }
      CHECK(correlation(estimated, measured) > 0.93);
    }
  }

  TEST_CASE("there is no estimate for kernels or devices that are not known") {
    const auto foreign = read_recorded_spaces(kData + "kernel_tuner.t4.json", built_in_kernels());
    CHECK_FALSE(prior_for(foreign.front()));
    auto spaces = read_recorded_spaces(kData + "h200-gemm_simt.t4.json.zst", built_in_kernels());
    RecordedSpace elsewhere = spaces.front();
    elsewhere.device = "Voodoo 2";
    CHECK_FALSE(prior_for(elsewhere));
    RecordedSpace older = spaces.front();
    older.kernel = built_in_kernels().find("gemm_skinny");
    CHECK_FALSE(prior_for(older));
    RecordedSpace broken = spaces.front();
    broken.configurations.back().set("LANES_M", 0);
    CHECK_FALSE(prior_for(broken));
  }

  TEST_CASE("T4 as the schema has it") {
    const auto spaces = read_text(
        t4(ran(R"({"B": 2, "A": 16})", 8) + "," + ran(R"({"B": 4, "A": 16})", 4.5) + "," +
           result(R"({"B": 4, "A": 32})", R"("invalidity": "timeout", "unknown": {"key": 1})")));
    REQUIRE(spaces.size() == 1);
    const RecordedSpace& space = spaces.front();
    CHECK(space.name == "recorded.json");
    CHECK_FALSE(space.problem);
    REQUIRE(space.configurations.size() == 3);
    CHECK(space.configurations[0] == Configuration({{"B", 2}, {"A", 16}}));
    CHECK(space.configurations[2] == Configuration({{"B", 4}, {"A", 32}}));
    CHECK(space.outcomes[1].us == 4.5);
    CHECK(space.outcomes[2].status == TrialStatus::run_timeout);
    CHECK(space.correct == 2);
    CHECK(space.best_us == 4.5);
  }

  TEST_CASE("each reason of a failure has its status, an unknown one too") {
    const auto status = [](const std::string& word) {
      const auto spaces =
          read_text(t4(ran(R"({"A": 1})", 1) + "," +
                       result(R"({"A": 2})", R"("measurements": [{"name": "time", "value": 0.5}],)"
                                             R"("invalidity": ")" +
                                                 word + "\"")));
      CHECK(spaces.front().correct == (word == "correct" ? 2 : 1));
      return spaces.front().outcomes[1].status;
    };
    CHECK(status("correct") == TrialStatus::ok);
    CHECK(status("timeout") == TrialStatus::run_timeout);
    CHECK(status("compile") == TrialStatus::compile_failed);
    CHECK(status("runtime") == TrialStatus::launch_failed);
    CHECK(status("correctness") == TrialStatus::wrong_result);
    CHECK(status("constraints") == TrialStatus::rejected_spills);
    CHECK(status("device_limits") == TrialStatus::launch_failed);
  }

  TEST_CASE("T4 as Kernel Tuner writes it, with values of every kind") {
    const auto spaces = read_recorded_spaces(kData + "kernel_tuner.t4.json", built_in_kernels());
    REQUIRE(spaces.size() == 1);
    const RecordedSpace& space = spaces.front();
    REQUIRE(space.configurations.size() == 3);
    CHECK(space.name == "kernel_tuner.t4.json");
    // Fractions and texts are ranks: 0.25, 0.5, 1, and float4 before float2, as they appear.
    CHECK(to_string(space.configurations[0]) ==
          "block_size_x=32,tile_size=2,unroll=1,use_shmem=1,vector=0");
    CHECK(to_string(space.configurations[1]) ==
          "block_size_x=16,tile_size=4,unroll=0,use_shmem=0,vector=1");
    CHECK(to_string(space.configurations[2]) ==
          "block_size_x=64,tile_size=4,unroll=2,use_shmem=1,vector=0");
    CHECK(space.outcomes[0].us == 1500);
    CHECK(space.outcomes[2].status == TrialStatus::compile_failed);
    CHECK(space.best_us == 750);
  }

  TEST_CASE("a cache file of Kernel Tuner") {
    const auto spaces = read_recorded_spaces(kData + "kernel_tuner_cache.json", built_in_kernels());
    REQUIRE(spaces.size() == 1);
    const RecordedSpace& space = spaces.front();
    REQUIRE(space.configurations.size() == 4);
    CHECK(to_string(space.configurations[1]) == "block_size_x=16,block_size_y=2");
    CHECK(space.best_us == 3875);
    CHECK(space.outcomes[2].status == TrialStatus::compile_failed);
    CHECK(space.outcomes[3].status != TrialStatus::ok);  // 1e20 for a time
    CHECK(space.correct == 2);
  }

  TEST_CASE("a cache file of Kernel Tuner 1.5 that its search has not closed") {
    const auto spaces =
        read_recorded_spaces(kData + "kernel_tuner_1.5_cache.json", built_in_kernels());
    REQUIRE(spaces.size() == 1);
    const RecordedSpace& space = spaces.front();
    CHECK(space.name == "kernel_tuner_1.5_cache.json (unfinished)");
    CHECK(space.configurations.size() == 6);
    CHECK(space.correct == 4);
    CHECK(to_string(space.configurations[0]) == "N=1,UNROLL=1");
    const auto failed = std::ranges::find_if(
        space.outcomes,
        [](const RecordedSpace::Outcome& outcome) { return outcome.status != TrialStatus::ok; });
    REQUIRE(failed != space.outcomes.end());
    CHECK(failed->status == TrialStatus::compile_failed);
  }

  TEST_CASE("wherever a cache file ends, its whole entries are read") {
    const std::string header = R"({"tune_params_keys": ["A"], "cache": {)";
    const std::string entry = R"("1": {"A": 1, "times": [3, 2.5], "time": 2.5})";
    const std::string text = header + entry + ",\n" + R"("2": {"A": 2, "time": 1.5})";
    for (std::size_t length = header.size() + entry.size(); length <= text.size(); ++length) {
      CAPTURE(length);
      const bool both = length == text.size();
      const auto spaces = read_text(text.substr(0, length));
      CHECK(spaces.front().correct == (both ? 2 : 1));
      CHECK(spaces.front().best_us == (both ? 1500 : 2500));
    }
  }

  TEST_CASE("what holds for all results may follow them") {
    const auto cached =
        read_text(R"({"cache": {"3": {"A": 3, "score": 2}, "4": {"A": 4, "score": 4}}, )"
                  R"("objective": "score", "tune_params_keys": ["A"]})");
    REQUIRE(cached.size() == 1);
    CHECK(cached[0].outcomes.size() == 2);
    CHECK(cached[0].best_us == doctest::Approx(0.25));
    const auto t4 =
        read_text(R"({"results": [{"configuration": {"A": 1}, "invalidity": "correct", "times": {)"
                  R"("runtimes": [2]}}], "metadata": {"timeunit": "seconds"}})");
    CHECK(t4.at(0).best_us == doctest::Approx(2e6));
  }

  TEST_CASE("a cache's parameters may stand in the key alone") {
    const auto spaces =
        read_text(R"({"tune_params_keys": ["A", "B", "C"], "cache": {"16,fast,True": {"time": 2},)"
                  R"("8,slow,False": {"time": 3}}})");
    CHECK(to_string(spaces.front().configurations[0]) == "A=16,B=0,C=1");
    CHECK(to_string(spaces.front().configurations[1]) == "A=8,B=1,C=0");
    CHECK(spaces.front().best_us == 2000);
  }

  TEST_CASE("the objective of a cache may be a list, and an error stands for itself") {
    const auto spaces = read_text(
        cache(R"(["energy", "time"])",
              R"("1": {"A": 1, "time": 2, "energy": 7}, "2": {"A": 2, "time": 1, "energy": 9},)"
              R"("3": {"A": 3, "time": 1, "energy": 1, "__error__": "InvalidConfig"},)"
              R"("4": {"A": 4, "__error__": "RuntimeFailedConfig"}, "5": {"A": 5})"));
    CHECK(spaces.front().best_us == 7);
    CHECK(spaces.front().correct == 2);
    CHECK(spaces.front().outcomes[2].status == TrialStatus::rejected_spills);
    CHECK(spaces.front().outcomes[3].status == TrialStatus::launch_failed);
    CHECK(spaces.front().outcomes[4].status == TrialStatus::launch_failed);
  }

  TEST_CASE("scores are to be large, and may be negative") {
    for (const std::string name : {"score", "fitness", "Score"}) {
      CAPTURE(name);
      const auto entry = [&](const std::string& a, const std::string& value) {
        return "\"" + a + R"(": {"A": )" + a + ", \"" + name + "\": " + value + "}";
      };
      const auto spaces =
          read_text(cache("\"" + name + "\"", entry("1", "0.014") + "," + entry("2", "0.5") + "," +
                                                  entry("3", "-0.7") + "," + entry("4", "0") + "," +
                                                  entry("5", "NaN")));
      CHECK(spaces.front().best_us == 2);
      CHECK(spaces.front().correct == 4);
      CHECK(spaces.front().outcomes[2].us > 1e9);
    }
  }

  TEST_CASE("rates are to be large, and times of anything small") {
    const auto best = [](const std::string& name) {
      const std::string entries =
          R"("1": {"A": 1, ")" + name + R"(": 2}, "2": {"A": 2, ")" + name + R"(": 4})";
      return read_text(cache("\"" + name + "\"", entries)).front().best_us;
    };
    for (const char* const rate : {"GB/s", "gb/sec", "GB_per_s", "Throughput", "fps", "TOPS"}) {
      CAPTURE(rate);
      CHECK(best(rate) == 0.25);
    }
    for (const char* const cost : {"us/step", "J/sample", "latency", "stops"}) {
      CAPTURE(cost);
      CHECK(best(cost) == 2);
    }
  }

  TEST_CASE("what KTT writes") {
    const auto of = [](const std::string& a, const std::string& status, const std::string& time) {
      return R"({"Status": ")" + status + R"(", "KernelName": "sum", "TotalDuration": )" + time +
             R"(, "Configuration": [{"Name": "Z", "Value": )" + a +
             R"(, "ValueType": "UnsignedInt"}, {"Name": "A", "Value": 0.5}]})";
    };
    const auto spaces =
        read_text(R"({"Metadata": {"TimeUnit": "Milliseconds"}, "Results": [)" +
                  of("1", "Ok", "3.5") + "," + of("2", "Ok", "2") + "," + of("3", "Ok", "0") + "," +
                  of("4", "ValidationFailed", "1") + "," + of("5", "CompilationFailed", "0") + "," +
                  of("6", "DeviceLimitsExceeded", "0") + "]}");
    REQUIRE(spaces.size() == 1);
    const RecordedSpace& space = spaces.front();
    CHECK(space.configurations.size() == 6);
    CHECK(space.correct == 2);
    CHECK(space.best_us == 2000);
    CHECK(to_string(space.configurations[1]) == "Z=2,A=0");
    CHECK(space.outcomes[2].status == TrialStatus::launch_failed);
    CHECK(space.outcomes[3].status == TrialStatus::wrong_result);
    CHECK(space.outcomes[4].status == TrialStatus::compile_failed);
    CHECK(space.outcomes[5].status == TrialStatus::launch_failed);
  }

  TEST_CASE("numbers that are texts, as KTT writes them, are numbers") {
    const auto spaces = read_text(t4(ran(R"({"A": "128"})", 1) + "," + ran(R"({"A": "16"})", 2)));
    CHECK(to_string(spaces.front().configurations[0]) == "A=128");
    CHECK(to_string(spaces.front().configurations[1]) == "A=16");
  }

  TEST_CASE("numbers come before texts, and equal ones are one value") {
    const auto spaces =
        read_text(t4(ran(R"({"A": "auto"})", 1) + "," + ran(R"({"A": 8})", 2) + "," +
                     ran(R"({"A": 2.0})", 3) + "," + ran(R"({"A": null})", 4)));
    CHECK(to_string(spaces.front().configurations[0]) == "A=2");
    CHECK(to_string(spaces.front().configurations[1]) == "A=1");
    CHECK(to_string(spaces.front().configurations[2]) == "A=0");
    CHECK(to_string(spaces.front().configurations[3]) == "A=3");
  }

  TEST_CASE("the objective is what counts; a rate is to be large; else the runs themselves") {
    const auto cost = [](const std::string& rest, const std::string& unit = "") {
      const std::string metadata =
          unit.empty() ? "" : R"("metadata": {"timeunit": ")" + unit + R"("}, )";
      return read_text("{" + metadata +
                       R"("results": [{"configuration": {"A": 1},)"
                       R"("invalidity": "correct", )" +
                       rest + "}]}")
          .front()
          .best_us;
    };
    const std::string two = R"("times": {}, "measurements": [{"name": "time", "value": 2},)"
                            R"({"name": "energy", "value": 7, "unit": "J"},)"
                            R"({"name": "GFLOP/s", "value": 4}], "objectives": )";
    CHECK(cost(two + R"(["time"])") == 2000);
    CHECK(cost(two + R"(["time"])", "nanoseconds") == doctest::Approx(0.002));
    CHECK(cost(two + R"(["time"])", "seconds") == 2e6);
    CHECK(cost(two + R"(["energy", "time"])") == 7);
    CHECK(cost(two + R"(["GFLOP/s"])") == 0.25);
    for (const std::string rate : {"GFLOPS", "TFLOPs", "GFLOPS/W", "GFLOP/J", "GB/s"}) {
      CAPTURE(rate);
      const std::string one = R"("times": {}, "measurements": [{"name": ")";
      CHECK(cost(one + rate + R"(", "value": 4}], "objectives": [")" + rate + R"("])") == 0.25);
      CHECK(cost(one + R"(rate", "value": 4, "unit": ")" + rate +
                 R"("}], "objectives": ["rate"])") == 0.25);
    }
    for (const std::string other : {"flops_count", "energy_per_flop", "J/GFLOP"}) {
      CAPTURE(other);
      CHECK(cost(R"("times": {}, "measurements": [{"name": ")" + other +
                 R"(", "value": 4}], "objectives": [")" + other + R"("])") == 4);
    }
    CHECK(cost(two + R"(["absent"])") == 2000);
    CHECK(cost(R"("times": {"runtimes": [5, 3, 4]})") == 4000);
    CHECK(cost(R"("times": {"runtimes": [5, 3, 4]})", "microseconds") == 4);
  }

  TEST_CASE("a time that is none is a failure, never the best") {
    for (const char* value :
         {"0", "-1", "null", "\"InvalidConfig\"", "1e20", "NaN", "Infinity", "-Infinity"}) {
      CAPTURE(value);
      const auto spaces = read_text(
          t4(ran(R"({"A": 1})", 3) + "," +
             result(R"({"A": 2})", R"("invalidity": "correct", "measurements": [{"name": "time",)"
                                   R"("value": )" +
                                       std::string(value) + "}]")));
      CHECK(spaces.front().correct == 1);
      CHECK(spaces.front().best_us == 3);
      const auto exported = [](const std::string& a, const std::string& median_us) {
        return R"({"problem": {"m": 8, "n": 8, "k": 8}, "template": "fast", "device": "GPU",)"
               R"("configuration": {"A": )" +
               a + R"(}, "status": "ok", "measurement": {"median_us": )" + median_us + "}}";
      };
      const auto own =
          read_text(R"({"trials": [)" + exported("1", "3") + "," + exported("2", value) + "]}");
      CHECK(own.front().correct == 1);
      CHECK(own.front().best_us == 3);
    }
  }

  TEST_CASE("an exported trial without a time is a failure, never the best") {
    for (const char* median_us : {"0", "-1"}) {
      const auto trial = [](const char* a, const char* us) {
        return std::string(R"({"device": "GPU", "problem": {"m": 8, "n": 9, "k": 7}, "template":)"
                           R"( "fast", "status": "ok", "configuration": {"A": )") +
               a + R"(}, "measurement": {"median_us": )" + us + "}}";
      };
      const auto spaces =
          read_text(R"({"trials": [)" + trial("1", "3") + "," + trial("2", median_us) + "]}");
      CHECK(spaces.front().correct == 1);
      CHECK(spaces.front().best_us == 3);
      CHECK(spaces.front().outcomes[1].status == TrialStatus::launch_failed);
    }
  }

  TEST_CASE("what Python calls numbers is none, in a text it is a text") {
    const auto spaces = read_text(
        t4(ran(R"({"A": "NaN \" NaN"})", 3) + "," +
           result(R"({"A": 1})", R"("invalidity": "correct", "times": {"runtimes": [1, NaN]})")));
    CHECK(spaces.front().correct == 1);
    CHECK(spaces.front().best_us == 3);
    const auto cache =
        read_text(R"({"tune_params_keys": ["A"], "cache": {"1": {"A": 1, "time": NaN},)"
                  R"("2": {"A": 2, "time": 0.5}}})");
    CHECK(cache.front().correct == 1);
    CHECK(cache.front().best_us == 500);
  }

  TEST_CASE("of several results of one configuration the first counts, of this program the last") {
    const auto others = read_text(
        t4(ran(R"({"A": 1})", 3) + "," + ran(R"({"A": 2})", 5) + "," + ran(R"({"A": 1})", 2)));
    CHECK(others.front().configurations.size() == 2);
    CHECK(others.front().best_us == 3);
    const auto own = [](const char* a, const char* us) {
      return std::string(
                 R"({"problem": {"m": 8, "n": 8, "k": 8}, "template": "fast", "device": )") +
             R"("GPU", "configuration": {"A": )" + a +
             R"(}, "status": "ok", "measurement": {"median_us": )" + us + "}}";
    };
    const auto spaces = read_text(R"({"trials": [)" + own("1", "3") + "," + own("2", "5") + "," +
                                  own("1", "9") + "]}");
    CHECK(spaces.front().configurations.size() == 2);
    CHECK(spaces.front().best_us == 5);
  }

  TEST_CASE("a list as Kernel Tuner's tune_kernel returns it") {
    const auto spaces = read_text(
        R"([{"block_size_x": 32, "use": "a", "time": 2.5, "times": [2, 3], "GFLOP/s": 7},)"
        R"( {"block_size_x": 64, "use": "b", "time": 1.5, "times": [1, 2], "GFLOP/s": 9},)"
        R"( {"block_size_x": 8, "use": "b", "time": "CompilationFailedConfig"},)"
        R"( {"block_size_x": 16, "use": "b", "__error__": "InvalidConfig", "compile_time": 1}])");
    REQUIRE(spaces.size() == 1);
    const RecordedSpace& space = spaces.front();
    REQUIRE(space.configurations.size() == 4);
    CHECK(to_string(space.configurations[1]) == "block_size_x=64,use=1");
    CHECK(space.best_us == 1500);
    CHECK(space.correct == 2);
    CHECK(space.outcomes[2].status == TrialStatus::compile_failed);
    CHECK(space.outcomes[3].status == TrialStatus::rejected_spills);
  }

  TEST_CASE("problems, templates and devices of one file are spaces of their own") {
    const auto own = [](const char* size, const char* kernel, const char* device) {
      return result(R"({"A": 1})",
                    std::string(R"("invalidity": "correct", "measurements": [{"name": "time",)") +
                        R"("value": 1, "unit": "us"}], "problem": {"m": )" + size +
                        R"(, "n": 3, "k": 4, "layout": "TN"}, "template": ")" + kernel +
                        R"(", "device": ")" + device + "\"");
    };
    const auto spaces = read_text(t4(own("8", "fast", "GPU") + "," + own("2", "fast", "GPU") + "," +
                                     own("8", "fast", "GPU") + "," + own("8", "slow", "GPU") + "," +
                                     own("8", "fast", "CPU")));
    REQUIRE(spaces.size() == 4);
    CHECK(spaces[0].name == "8x3x4 TN fast on GPU");
    CHECK(spaces[1].name == "2x3x4 TN fast on GPU");
    CHECK(spaces[2].name == "8x3x4 TN slow on GPU");
    CHECK(spaces[3].name == "8x3x4 TN fast on CPU");
    REQUIRE(spaces[1].problem);
    CHECK(spaces[1].problem->size("m") == 2);
    CHECK(spaces[1].template_name == "fast");
  }

  TEST_CASE("compressed files read alike") {
    const std::string text = t4(ran(R"({"A": 1})", 3));
    CHECK(read_text(compressed(text, 3)).front().best_us == 3);
    CHECK(refusal(compressed(text, 3).substr(0, 20)).find("not a whole zstd file") !=
          std::string::npos);
    // What `gzip -n` makes of it, in two parts, which are one text.
    const std::string zipped = gzipped(text.substr(0, 50)) + gzipped(text.substr(50));
    CHECK(read_text(zipped).front().best_us == 3);
    CHECK(refusal(zipped.substr(0, zipped.size() - 1)).find("not a whole gzip file") !=
          std::string::npos);
  }

  TEST_CASE("the recording of an H200") {
    const auto spaces =
        read_recorded_spaces(kData + "h200-64x64x65536.t4.json.zst", built_in_kernels());
    REQUIRE(spaces.size() == 1);
    CHECK(spaces[0].name == "64x64x65536 gemm_simt on NVIDIA H200");
    CHECK(spaces[0].configurations.size() == 342);
    CHECK(spaces[0].correct == 288);
    CHECK(spaces[0].configurations[0].entries().front().first == "RESULTS_M");  // not by alphabet
  }

  TEST_CASE("a file that is not a recording is refused in one line that names it and the error") {
    const auto of_size = [](const std::string& m) {
      return t4(result(R"({"A": 1})", R"("invalidity": "correct", "template": "fast", "problem": )"
                                      R"({"n": 3, "k": 4, "m": )" +
                                          m + "}"));
    };
    const std::string fails = result(R"({"A": 1})", R"("invalidity": "runtime")");
    const std::pair<std::string, std::string> cases[] = {
        {"", "is empty"},
        {"autotune,1,2\n", "not a whole JSON document: there is a fault at byte 1"},
        {t4(ran(R"({"A": 1})", 3)).substr(0, 90), "it ends too early at byte 90 of 90"},
        {"\x1f\x8b\x08", "not a whole gzip file"},
        {"[]", "has no results"},
        {"7", "no recorded results"},
        {"[7]", "not as Kernel Tuner has them"},
        {R"([{"A": 1, "time": 2}, {"A")", "it ends too early"},
        {R"([{"A": 1, "energy": 2}])", "one has no \"time\""},
        {"[1e999]", "has a number that is out of range"},
        {std::string(65, '['), "is nested too deep"},
        {std::string(64, '['), "it ends too early at byte 64 of 64"},
        {R"({"schema": 1})", "no recorded results"},
        {t4(""), "has no results"},
        {R"({"results": 7})", "not as T4 1.0.0 has them"},
        {t4("7"), "not as T4 1.0.0 has them"},
        {t4(R"({"times": {}})"), "key 'configuration' not found"},
        {t4(R"({"configuration": {}, "times": {}})"), "key 'invalidity' not found"},
        {R"({"cache": {"1": {"time": 1}}})", "not as a cache of Kernel Tuner has them: key"},
        {R"({"cache": {"1": {"time": 1}}})", "'tune_params_keys' not found"},
        {R"({"tune_params_keys": ["A", "B"], "cache": {"1": {"time": 1}}})", "for each of 2"},
        {R"({"tune_params_keys": ["A"], "cac)", "it ends too early"},
        {R"({"Results": [{"Status": "Ok"}]})", "not as KTT has them"},
        {cache(R"("score")", R"("1": {"A": 1, "score": -2})"),
         "all scores are 0 or less, so none is the best"},
        {R"({"trials": [{"measurement": {"median_us": 1}}]})", "key 'problem' not found"},
        {t4(fails), "all configurations failed, so none is the best"},
        {of_size("-9223372036854775808"), "a size is not from 1 to 2147483647"},
        {of_size("1e300"), "a number is not whole, or is out of range"},
        {of_size("2.5"), "a number is not whole, or is out of range"},
        {t4(ran(R"({"A": 1})", 3) + "," + ran(R"({"B": 1})", 3)), "the same parameters"},
    };
    for (const auto& [text, what] : cases) {
      CAPTURE(text);
      const std::string message = refusal(text);
      CAPTURE(message);
      CHECK(message.find("recorded.json: ") != std::string::npos);
      CHECK(message.find(what) != std::string::npos);
      CHECK(message.find('\n') == std::string::npos);
    }
    CHECK_THROWS_AS(read_recorded_spaces("/nonexistent/file", built_in_kernels()), UsageError);
    CHECK_THROWS_AS(read_recorded_spaces("/", built_in_kernels()), UsageError);
  }
}

}  // namespace
}  // namespace autotune
