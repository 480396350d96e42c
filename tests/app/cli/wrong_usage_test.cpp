// Every way of asking wrongly ends with the documented exit code and one or two clear lines, and
// leaves nothing behind.
#include <doctest/doctest.h>

#include "tests/app/cli/program.hpp"

namespace autotune::test {
namespace {

struct Case {
  std::vector<std::string> arguments;
  int exit_code;
  std::string names;  // what the message must name
};

constexpr const char* kRecording = AUTOTUNE_SOURCE_DIR "/tests/data/h200-64x64x65536.t4.json.zst";

std::string long_list(int items) {
  std::string list = "1";
  for (int i = 2; i <= items; ++i) list += "," + std::to_string(i);
  return list;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {{}, 2, "--sizes"},
      {{"tune"}, 2, "--sizes"},
      {{"--sizes"}, 2, "--sizes"},
      {{"--sizes", ""}, 2, "empty item"},
      {{"--sizes", "0"}, 2, "'0'"},
      {{"--sizes", "-1"}, 2, "-1"},
      {{"--sizes=-1"}, 2, "'-1'"},
      {{"--sizes", "1e3"}, 2, "'1e3'"},
      {{"--sizes", "1024x"}, 2, "'1024x'"},
      {{"--sizes", "x"}, 2, "'x'"},
      {{"--sizes", "x1024"}, 2, "'x1024'"},
      {{"--sizes", "1024x1024"}, 2, "'1024x1024'"},
      {{"--sizes", "1x2x3x4"}, 2, "'1x2x3x4'"},
      {{"--sizes", "1024,,2048"}, 2, "empty item"},
      {{"--sizes", "1024,"}, 2, "empty item"},
      {{"--sizes", ","}, 2, "empty item"},
      {{"--sizes", "2147483648"}, 2, "'2147483648'"},
      {{"--sizes", "99999999999999999999"}, 2, "'99999999999999999999'"},
      {{"--sizes", "NaN"}, 2, "'NaN'"},
      {{"--sizes", "inf"}, 2, "'inf'"},
      {{"--sizes", "0x10"}, 2, "'0x10'"},
      {{"--sizes", "010"}, 2, "'010'"},
      {{"--sizes", "+5"}, 2, "'+5'"},
      {{"--sizes", "10.5"}, 2, "'10.5'"},
      {{"--sizes", " 1024"}, 2, "' 1024'"},
      {{"--sizes", "1024 2048"}, 2, "'1024 2048'"},
      {{"--sizes", "\xd9\xa1\xd9\xa2"}, 2, "must be N or MxNxK"},
      {{"--sizes", "1024\n"}, 2, "'1024?'"},
      {{"--sizes", long_list(1025)}, 2, "1025"},
      {{"--sizes", std::string(100000, '9')}, 2, "..."},
      {{"--sizes", "@/nonexistent"}, 2, "/nonexistent"},
      {{"--sizes", "@"}, 2, "cannot be read"},
      {{"--sizes", "@/"}, 2, "'/'"},
      {{"--sizes", "64", "--budget", "0"}, 2, "--budget"},
      {{"--sizes", "64", "--budget", "-5s"}, 2, "--budget"},
      {{"--sizes", "64", "--budget", "nan"}, 2, "--budget"},
      {{"--sizes", "64", "--budget", "5 parsecs"}, 2, "--budget"},
      {{"--sizes", "64", "--trials", "0"}, 2, "--trials"},
      {{"--sizes", "64", "--trials", "many"}, 2, "'many'"},
      {{"--sizes", "64", "--trials", "10,20"}, 2, "'10,20'"},
      {{"--sizes", "64", "--until", "98"}, 2, "--until: '98'"},
      {{"--sizes", "64", "--until", "101%"}, 2, "--until 98%"},
      {{"--sizes", "64", "--jobs", "0"}, 2, "--jobs"},
      {{"--sizes", "64", "--seed", "x"}, 2, "--seed"},
      {{"--sizes", "64", "--strategy", "magic"}, 2, "exhaustive"},
      {{"--sizes", "64", "--strategy", "local,random"}, 2, "one strategy"},
      {{"--sizes", "64", "--template", "gemm_fast"}, 2, "gemm_tiled"},
      {{"--sizes", "64", "--tile-width", "17"}, 2, "8, 16, 32"},
      {{"--sizes", "64", "--tile-width", "wide"}, 2, "--tile-width"},
      {{"--sizes", "64", "--results-per-thread", "3"}, 2, "1, 2, 4, 8, 16, 32"},
      {{"--sizes", "64", "--results-per-thread", "2x"}, 2, "--results-per-thread"},
      {{"--sizes", "64", "--unroll", "5"}, 2, "--unroll"},
      {{"--sizes", "64", "--shard", "2"}, 2, "'2'"},
      {{"--sizes", "64", "--shard", "0/2"}, 2, "'0/2'"},
      {{"--sizes", "64", "--shard", "3/2"}, 2, "'3/2' must be I/N"},
      {{"--sizes", "64", "--shard", "1/x"}, 2, "'1/x'"},
      {{"db", "merge"}, 2, "files"},
      {{"db", "merge", "/nowhere/a.db", "--db", "/nowhere/else.db"}, 2, "/nowhere/a.db"},
      {{"--sizes", "64", "--only", "TILE_WIDTH"}, 2, "'TILE_WIDTH'"},
      {{"--sizes", "64", "--only", "TILE=8"}, 2, "'TILE'"},
      {{"--sizes", "64", "--only", "TILE_WIDTH=9"}, 2, "TILE_WIDTH: '9'"},
      {{"--sizes", "64", "--template", "gemm_tiled", "--only", "STAGES=2"}, 2, "'STAGES'"},
      {{"--sizes", "64", "--math", "loose"}, 2, "strict"},
      {{"--sizes", "64", "--layout", "XY"}, 2, "NN, NT, TN or TT"},
      {{"--sizes", "64", "--compare", "mkl"}, 2, "cublas"},
      {{"--sizes", "64", "--device", "cuda:0"}, 2, "'cuda:0'"},
      {{"--sizes", "64", "--device", "-1"}, 2, "--device"},
      {{"--sizes", "64", "--db"}, 2, "--db"},
      {{"--sizes", "64", "extra"}, 2, "'extra'"},
      {{"--sizs", "64"}, 2, "--sizes"},
      {{"tune", "--sizes", "64", "--jason"}, 2, "--json"},
      {{"quary"}, 2, "query"},
      {{"query", "--sizes", "1e3", "--device", "X"}, 2, "'1e3'"},
      {{"query", "--device", "X", "--db", "/nonexistent/db"}, 2, "/nonexistent/db"},
      {{"run", "--sizes", "64", "--config", "TILE_WIDTH"}, 2, "NAME=INTEGER"},
      {{"run", "--sizes", "64", "--config", "TILE_WIDTH=17"}, 2, "--config: TILE_WIDTH=17"},
      {{"run", "--sizes", "64", "--config", "TILE_WIDTH=17"}, 2, "8, 16, 32"},
      {{"run", "--sizes", "64", "--config", "TILE_WITH=16"}, 2, "TILE_WITH"},
      {{"sweep", "--init", "zeros"}, 2, "linear or uniform"},
      {{"sweep", "--tile-width", "64"}, 2, "--tile-width"},
      {{"sweep", "--results-per-thread", "2x8"}, 2, "products alone"},
      {{"show"}, 2, "--sizes"},
      {{"show", "--sizes", "64,128"}, 2, "one size"},
      {{"show", "--sizes", "64", "--arch", "9.0"}, 2, "--arch sm_90"},
      {{"show", "--sizes", "64", "--arch", "sm_90", "--ptx", "--log"}, 2, "exclude each other"},
      {{"show", "--sizes", "64", "--template", "gemm_tiled,gemm_simt"}, 2, "takes one"},
      {{"analyze", "--arch", "sm_35"}, 2, "sm_50 to sm_121"},
      {{"analyze", "--arch", "sm_90", "--device", "0"}, 2, "--arch and --device"},
      {{"analyze", "--device", "No Such GPU"}, 2, "No Such GPU"},
      {{"analyze", "--device", "0"}, 3, "no NVIDIA driver"},
      {{"analyze", "--device", "0", "--limit", "x=1"}, 2, "'x' must be one of threads_per_sm"},
      {{"analyze", "--limit", "threads=1536"}, 2, "threads_per_sm"},
      {{"analyze", "--limit", "shared_per_sm"}, 2, "NAME=VALUE"},
      {{"analyze", "--limit", "shared_per_sm=0"}, 2, "'shared_per_sm=0'"},
      {{"analyze", "--limit", "shared_per_sm=-1"}, 2, "'shared_per_sm=-1'"},
      {{"analyze", "--limit", "shared_per_sm=1,2"}, 2, "a whole number"},
      {{"analyze", "--tile-width", "17"}, 2, "8, 16, 32"},
      {{"analyze", "--tile-width", "16,32"}, 2, "one configuration"},
      {{"analyze", "--tile-width", "8", "--config", "TILE_WIDTH=8"}, 2, "--config excludes"},
      {{"analyze", "--config", "TILE_WIDTH=17"}, 2, "8, 16, 32"},
      {{"analyze", "--config", "RESULTS_M=32,RESULTS_N=32"}, 2, "at most 32"},
      {{"analyze", "--template", "gemm_fast"}, 2, "gemm_tiled"},
      {{"analyze", "--sizes", "64,128"}, 2, "one size"},
      {{"analyze", "--layout", "XY"}, 2, "NN, NT, TN or TT"},
      {{"db"}, 2, "subcommand"},
      {{"db", "stats"}, 2, "tune something first"},
      {{"db", "export"}, 2, "--format"},
      {{"db", "export", "--format", "csv"}, 2, "tune something first"},
      {{"replay"}, 2, "files"},
      {{"replay", "/nonexistent.json"}, 2, "/nonexistent.json"},
      {{"replay", AUTOTUNE_SOURCE_DIR "/README.md"}, 2, "no whole JSON"},
      {{"replay", kRecording, "--strategy", "magic"}, 2, "exhaustive"},
      {{"replay", kRecording, "--strategy", ""}, 2, "--strategy"},
      {{"replay", kRecording, "--trials", "0"}, 2, "--trials"},
      {{"replay", kRecording, "--until", "0%"}, 2, "--until"},
      {{"replay", kRecording, "--trials", "10,20"}, 2, "'10,20'"},
      {{"replay", kRecording, "--repeats", "10001"}, 2, "10000"},
      {{"replay", kRecording, "--in-flight", "x"}, 2, "--in-flight"},
      {{"replay", kRecording, "--seed", "-1"}, 2, "--seed"},
      {{"replay", kRecording, "--sizes", "1e3"}, 2, "'1e3'"},
      {{"replay", kRecording, "--sizes", "64"}, 2, "64x64x64 was not recorded"},
      {{"worker"}, 2, "for the program itself"},
      {{"--sizes", "64", "--device", "0"}, 3, "no NVIDIA driver"},
      {{"run", "--sizes", "64", "--device", "1"}, 3, "no NVIDIA driver"},
      {{"sweep", "--device", "0"}, 3, "no NVIDIA driver"},
      {{"query", "--sizes", "64"}, 4, "ask for a known device"},
      {{"query", "--sizes", "64", "--device", "No Such GPU"}, 4, "No Such GPU"},
      {{"query", "--sizes", "2048", "--device", "NVIDIA H200", "--no-shipped"}, 4, "(none)"},
  };
  return all;
}

std::string joined(const std::vector<std::string>& arguments) {
  std::string text;
  for (const std::string& argument : arguments) text += " " + argument.substr(0, 40);
  return text;
}

TEST_SUITE("wrong usage") {
  TEST_CASE("every wrong request ends with its exit code and a clear line") {
    REQUIRE(cases().size() >= 40);
    const Program program;
    for (const Case& c : cases()) {
      CAPTURE(joined(c.arguments));
      const ProgramResult result = program(c.arguments);
      CHECK(result.exit_code == c.exit_code);
      CHECK(result.out == "");
      CHECK(result.err.find(c.names) != std::string::npos);
      CHECK(result.err.rfind("autotune: ", 0) == 0);
      CHECK(lines(result.err) >= 1);
      CHECK(lines(result.err) <= 2);
      CHECK(result.err.size() < 400);
      CHECK_FALSE(std::filesystem::exists(program.database));
    }
  }

  TEST_CASE("sizes from a file are read a line each and checked alike") {
    const Program program;
    const std::string good = program.folder.path() / "good";
    const std::string bad = program.folder.path() / "bad";
    std::ofstream(good) << "64\n128x7x9\n";
    std::ofstream(bad) << "64\n\n128\n";
    CHECK(program({"--dry-run", "--sizes", "@" + good}).exit_code == 0);
    const ProgramResult result = program({"--sizes", "@" + bad});
    CHECK(result.exit_code == 2);
    CHECK(result.err.find("empty item") != std::string::npos);
  }
}

}  // namespace
}  // namespace autotune::test
