// A kernel that a file in the T1 format describes, from the file to the program's answers, on the
// CPU device.
#include <filesystem>
#include <fstream>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace autotune::test {
namespace {

constexpr const char* kT1Description = R"({
  "ConfigurationSpace": {
    "TuningParameters": [
      {"Name": "BLOCK", "Type": "uint", "Values": "[2**i for i in range(5, 8)]"},
      {"Name": "WRONG", "Type": "int", "Values": [0, 1]},
    ],
    "Conditions": [{"Parameters": ["BLOCK"], "Expression": "BLOCK // 32 != 1"}]
  },
  "KernelSpecification": {
    "Language": "CUDA", "KernelName": "scaled", "KernelFile": "scaled.cu",
    "GlobalSizeType": "OpenCL", "GlobalSize": {"X": "1000"}, "LocalSize": {"X": "BLOCK"},
    "Arguments": [
      {"Name": "in", "Type": "float", "Size": 1000, "FillType": "BinaryRaw", "DataSource": "in.bin",
       "AccessType": "ReadOnly", "MemoryType": "Vector"},
      {"Name": "out", "Type": "float", "Size": 1000, "FillType": "Constant", "FillValue": 0,
       "AccessType": "WriteOnly", "MemoryType": "Vector"},
      {"Name": "factor", "Type": "float", "FillValue": 3.0, "MemoryType": "Scalar"},
      {"Name": "n", "Type": "int32", "FillValue": 1000, "MemoryType": "Scalar"}
    ],
    "ReferenceArguments": [
      {"Name": "right", "TargetName": "out", "FillType": "BinaryRaw", "DataSource": "right.bin",
       "ValidationMethod": "SideBySideComparison", "ValidationThreshold": 0.01}
    ]
  }
}
)";

struct T1Program : Program {
  std::string file = (folder.path() / "scaled.json").string();

  T1Program() {
    write("scaled.json", kT1Description);
    write("scaled.cu",
          "__global__ void scaled(const float* x, float* y, float factor, int n) {\n"
          "  const int i = blockIdx.x * BLOCK + threadIdx.x;\n"
          "  if (i < n) y[i] = factor * x[i] + (WRONG == 1 && i == 500 ? 1 : 0);\n"
          "}\n");
    write_numbers("in.bin", 1);
    write_numbers("right.bin", 3);
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder.path() / name) << text;
  }
  void write_numbers(const std::string& name, float factor) const {
    std::vector<float> numbers(1000);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = factor * static_cast<float>(i);
    std::ofstream(folder.path() / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(numbers.data()),
               static_cast<std::streamsize>(numbers.size() * sizeof(float)));
  }
  [[nodiscard]] ProgramResult run(const std::string& command,
                                  const std::vector<std::string>& more = {}) const {
    return (*this)(with({command, "--kernel", file}, more));
  }
};

}  // namespace

TEST_SUITE("a kernel of a T1 description") {
  TEST_CASE("is tuned without sizes, checked, looked up and exported") {
    const T1Program program;
    const ProgramResult tuned =
        program.run("tune", {"--device", "cpu", "--json", "--progress", "none"});
    CAPTURE(tuned.err);
    CHECK(tuned.exit_code == kSuccess);
    const nlohmann::json document = nlohmann::json::parse(tuned.out);
    CHECK(document.at("measured") == 4);  // BLOCK is 64 or 128
    CHECK(document.at("results").at(0).at("problem") == "scaled");
    CHECK(has(document.at("results").at(0).at("configuration").dump(), "\"WRONG\":0"));

    const ProgramResult known = program.run("query", {"--device", "cpu", "--json"});
    CHECK(nlohmann::json::parse(known.out).at("results").at(0).at("match") == "exact");
    const nlohmann::json trials = nlohmann::json::parse(
        program({"db", "export", "--kernel", program.file, "--format", "t4"}).out);
    std::size_t correct = 0, wrong = 0;
    for (const nlohmann::json& each : trials.at("results")) {
      ++(each.at("invalidity") == "correct" ? correct : wrong);
      CHECK((each.at("invalidity") == "correctness") ==
            (each.at("configuration").at("WRONG") == 1));
    }
    CHECK(correct == 2);
    CHECK(wrong == 2);

    CHECK(program.run("run", {"--device", "cpu", "--config", "BLOCK=64,WRONG=0"}).exit_code ==
          kSuccess);
    CHECK(has(program.run("templates").out, "4 of 6"));
    CHECK(has(program.run("show", {"--source", "--device", "cpu"}).out, "#define WRONG 0\n"));
  }

  TEST_CASE("is stale after a change of what it says of the kernel, not of others") {
    const T1Program program;
    CHECK(program.run("tune", {"--device", "cpu", "--progress", "none"}).exit_code == kSuccess);
    const auto match = [&] {
      const ProgramResult found = program.run("query", {"--device", "cpu", "--json"});
      return nlohmann::json::parse(found.out).at("results").at(0).at("match").get<std::string>();
    };
    std::string text = kT1Description;
    program.write("scaled.json", "// A comment.\n" + text);
    CHECK(match() == "exact");
    text.replace(text.find("0.01"), 4, "0.02");
    program.write("scaled.json", text);
    CHECK(match() == "exact, stale");
  }

  TEST_CASE("that is wrong gets one line, and nothing is stored") {
    const T1Program program;
    const auto refused = [&](const std::string& from, const std::string& to,
                             const std::string& says, const std::vector<std::string>& more = {}) {
      std::string text = kT1Description;
      text.replace(text.find(from), from.size(), to);
      program.write("scaled.json", text);
      const ProgramResult result = program.run("tune", with({"--device", "cpu"}, more));
      CAPTURE(result.err);
      CHECK(result.exit_code == kUsage);
      CHECK(lines(result.err) == 1);
      CHECK(has(result.err, "autotune: " + says));
    };
    refused("CUDA", "OpenCL", "scaled.json:10:18: the Language is 'OpenCL'");
    refused("BLOCK // 32", "TILE // 32", "scaled.json:7:61: the name 'TILE' is unknown");
    refused("\"X\": \"1000\"", "\"X\": \"0\"", "scaled.cu:1:17: scaled: the grid has the extent 0");
    refused("CUDA", "CUDA", "--size: scaled has no sizes: leave them out", {"--size", "n=4"});
    CHECK_FALSE(std::filesystem::exists(program.database));
  }

  TEST_CASE("whose file of data is not there is not measured, which is said") {
    const T1Program program;
    std::filesystem::resize_file(program.folder.path() / "in.bin", 3999);
    const ProgramResult result = program.run("tune", {"--device", "cpu", "--progress", "none"});
    CAPTURE(result.err);
    CHECK(result.exit_code == kEnvironment);
    CHECK(has(result.err, "in.bin: it has less than the 4000 bytes of x, 1000 elements of f32"));
  }
}

}  // namespace autotune::test
