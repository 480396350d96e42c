// The program on the CPU device where a GPU, memory, a compiler or a folder is missing.
#include <doctest/doctest.h>

#include "tests/cli/program.hpp"

namespace autotune::test {
namespace {

TEST_SUITE("what the CPU device lacks") {
  TEST_CASE("auto takes the CPU device where there is no GPU, and says so") {
    const Program program;
    const ProgramResult result = program(
        {"--sizes", "33", "--tile-width", "8", "--results-per-thread", "1x1", "--trials", "2"});
    CHECK(result.exit_code == kSuccess);
    CHECK(lines(result.err) == 1);
    CHECK(has(result.err, "no NVIDIA driver on this machine"));
    CHECK(has(result.err, "using the CPU device, whose times say nothing about a GPU"));
    CHECK(result.out.rfind("cpu: ", 0) == 0);
    CHECK(has(result.out, "2 measured"));

    const ProgramResult answer = program({"query", "--sizes", "33"});
    CHECK(answer.exit_code == kSuccess);
    CHECK(answer.out.rfind("cpu: ", 0) == 0);
  }

  TEST_CASE("a GPU that was asked for is not replaced") {
    const Program program;
    const ProgramResult result = program({"--sizes", "33", "--device", "0"});
    CHECK(result.exit_code == kEnvironment);
    CHECK(result.out == "");
    CHECK(has(result.err, "the CPU device (cpu) needs no GPU"));
    CHECK_FALSE(std::filesystem::exists(program.database));
  }

  TEST_CASE("what the CPU device lacks is refused") {
    const Program program;
    ProgramResult result = program({"--sizes", "8", "--device", "cpu", "--compare", "cublas"});
    CHECK(result.exit_code == kEnvironment);
    CHECK(has(result.err, "the CPU device has no cuBLAS"));
    result = program({"show", "--sizes", "8", "--ptx"});
    CHECK(result.exit_code == kUsage);
    CHECK(has(result.err, "--arch sm_90"));
    result = program({"query", "--device", "cpu: no such", "--sizes", "8"});
    CHECK(result.exit_code == kNothingStored);
  }

  TEST_CASE("a problem beyond memory is refused before anything is compiled") {
    const Program program;
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"tune"}, {"run"}, {"sweep"}}) {
      const ProgramResult result =
          program(with(command, {"--device", "cpu", "--sizes", "2000000x2000000x8"}));
      CHECK(result.exit_code == kEnvironment);
      CHECK(result.out == "");
      CHECK(lines(result.err) == 1);
      CHECK(has(result.err, "2000000x2000000x8 needs "));
    }
  }

  TEST_CASE("a problem beyond memory leaves the others to be measured") {
    const Program program;
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"run"}, {"bench", "--against", "gemm_simt"}, {"sweep"}}) {
      const ProgramResult result =
          program(with(command, {"--device", "cpu", "--sizes", "2000000x2000000x8,16"}));
      CHECK(result.exit_code == kEnvironment);
      CHECK(has(result.out, "16x16x16"));
      const std::string needs = "2000000x2000000x8 needs ";
      CHECK(has(result.err, needs));
      CHECK(result.err.find(needs) == result.err.rfind(needs));
    }
  }

  TEST_CASE("a machine without a compiler says so") {
    Program program;
    program.environment.emplace_back("CXX", "/nonexistent/c++");
    const ProgramResult result = program({"--sizes", "8", "--device", "cpu"});
    CHECK(result.exit_code == kEnvironment);
    CHECK(lines(result.err) == 1);
    CHECK(has(result.err, "the C++ compiler named in CXX was not found: /nonexistent/c++"));
  }

  TEST_CASE("a compiler or a temporary folder that does not work is named and nothing stored") {
    Program program;
    program.environment.emplace_back("CXX", "/bin/false");
    ProgramResult result = program({"--sizes", "8", "--device", "cpu"});
    CHECK(result.exit_code == kEnvironment);
    CHECK(has(result.err, "/bin/false does not compile an empty kernel"));
    program.environment.back() = {"TMPDIR", "/proc"};
    result = program({"--sizes", "8", "--device", "cpu"});
    CHECK(result.exit_code == kEnvironment);
    CHECK(has(result.err, "in /proc: set TMPDIR to another"));
    program.environment.back() = {"TMPDIR", "/nonexistent"};
    result = program({"--sizes", "8", "--device", "cpu"});
    CHECK(result.exit_code == kEnvironment);
    CHECK(has(result.err, "set TMPDIR to one"));
    CHECK(trials_in(program.database) == 0);
  }
}

}  // namespace
}  // namespace autotune::test
