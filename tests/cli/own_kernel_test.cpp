// Kernels of a user's own, from their file to the program's answers, on the CPU device.
#include <cmath>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "cpu/npy_file.hpp"
#include "tests/cli/program.hpp"

namespace autotune::test {
namespace {

using Json = nlohmann::json;

constexpr const char* kScale = R"(#include "factor.h"
#pragma kernel tune(BLOCK = 32, 64) tune(PER_THREAD = 1, 2, 3) restriction(n % PER_THREAD == 0)
#pragma kernel problem_size(n) block_size(BLOCK) grid_divisor(BLOCK * PER_THREAD)
#pragma kernel buffers(x[n], y[n]) scalar(a = 1.5) work(operations = n)
__global__ void scale(const float* x, float* y, int n, float a) {
  for (int k = 0; k < PER_THREAD; ++k) {
    const int i = (blockIdx.x * PER_THREAD + k) * BLOCK + threadIdx.x;
    if (i < n) y[i] = factor(a) * x[i];
  }
}
)";

struct OwnKernel : Program {
  std::filesystem::path file = folder.path() / "scale.cu";

  explicit OwnKernel(const std::string& text = kScale) {
    write("scale.cu", text);
    write("factor.h", "__device__ inline float factor(float a) { return 2 * a; }\n");
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder.path() / name) << text;
  }
  [[nodiscard]] ProgramResult run(const std::string& command,
                                  const std::vector<std::string>& more = {}) const {
    return (*this)(with({command, "--kernel", file.string()}, more));
  }
  [[nodiscard]] Json tuned(const std::vector<std::string>& more) const {
    const ProgramResult result =
        run("tune", with({"--device", "cpu", "--json", "--progress", "none"}, more));
    CAPTURE(result.err);
    CHECK(result.exit_code == kSuccess);
    return Json::parse(result.out);
  }
};

}  // namespace

TEST_SUITE("a kernel of one's own") {
  TEST_CASE("is tuned, stored, looked up, run and shown") {
    const OwnKernel program;
    const Json first = program.tuned({"--size", "n=1000", "--size", "n=999"});
    CHECK(first.at("measured") == 4 + 4);  // 3 does not divide 1000, nor 2 999
    CHECK(first.at("results").at(0).at("problem") == "scale n=1000");
    CHECK(first.at("results").at(0).at("median_us") > 0);
    CHECK(program.tuned({"--size", "n=1000", "--size", "n=999"}).at("measured") == 0);

    const ProgramResult known = program.run("query", {"--device", "cpu", "--json"});
    CHECK(Json::parse(known.out).at("results").size() == 2);
    const Json exact =
        Json::parse(program.run("query", {"--device", "cpu", "--size", "n=999", "--json"}).out);
    CHECK(exact.at("results").at(0).at("match") == "exact");
    const Json near =
        Json::parse(program.run("query", {"--device", "cpu", "--size", "n=12000", "--json"}).out);
    CHECK(near.at("results").at(0).at("match") == "nearest size");
    CHECK(program({"query", "--device", "cpu"}).exit_code == kNothingStored);
    CHECK(has(program({"db", "list"}).out, "scale n=1000"));
    CHECK(has(program({"db", "prune"}).out, "0 trials, 0 winners removed"));

    const ProgramResult ran = program.run(
        "run", {"--device", "cpu", "--size", "n=1000", "--config", "BLOCK=64,PER_THREAD=2"});
    CAPTURE(ran.err);
    CHECK(ran.exit_code == kSuccess);
    CHECK(has(ran.out, "n=1000"));
    const ProgramResult shown = program.run("show", {"--arch", "sm_90", "--size", "n=1000"});
    CHECK(has(shown.out, "arguments       x, y, n, a\n"));
    CHECK(has(shown.out, "shared memory   what the file declares static, 0 dynamic\n"));
    CHECK(has(program.run("templates").out, "scale: scale, compute capability 5.0 or newer"));
    const ProgramResult swept =
        program.run("sweep", {"--device", "cpu", "--size", "n=1000", "--only",
                              "PER_THREAD=1,PER_THREAD=2", "--launches", "2"});
    CAPTURE(swept.err);
    CHECK(has(swept.out, "PER_THREAD=1  PER_THREAD=2"));
    const std::string report =
        program({"report", "--kernel", program.file.string(), "--format", "md"}).out;
    CHECK(has(report, "n=999"));
  }

  TEST_CASE("is stale after an edit of its file or of what that includes, and not lost") {
    const OwnKernel program;
    const std::vector<std::string> size = {"--size", "n=96"};
    CHECK(program.tuned(size).at("measured") == 6);
    const auto match = [&] {
      const ProgramResult found =
          program.run("query", {"--device", "cpu", "--size", "n=96", "--json"});
      return Json::parse(found.out).at("results").at(0).at("match").get<std::string>();
    };
    CHECK(match() == "exact");
    program.write("factor.h", "__device__ inline float factor(float a) { return 3 * a; }\n");
    CHECK(match() == "exact, stale");
    program.write("factor.h", "__device__ inline float factor(float a) { return 2 * a; }\n");
    CHECK(match() == "exact");
    std::filesystem::rename(program.file, program.folder.path() / "other.cu");
    std::filesystem::copy(program.folder.path() / "other.cu", program.file);
    CHECK(match() == "exact");
  }

  TEST_CASE("is searched anew after an edit, which may change its space") {
    const OwnKernel program;
    CHECK(program.tuned({"--size", "n=96"}).at("measured") == 6);
    std::string wider = kScale;
    wider.replace(wider.find("= 32, 64"), 8, "= 32, 64, 128");
    program.write("scale.cu", wider);
    CHECK(program.tuned({"--size", "n=96"}).at("measured") == 9);
    CHECK(program.tuned({"--size", "n=96"}).at("measured") == 0);
  }

  TEST_CASE("may have a parameter with the name of a macro of the program's own kernels") {
    std::string text = kScale;
    for (std::size_t at = 0; (at = text.find("PER_THREAD", at)) != std::string::npos;) {
      text.replace(at, 10, "ALIGNED");
    }
    const Json results = OwnKernel(text).tuned({"--size", "n=96"}).at("results");
    CHECK(results.at(0).at("tried") == 6);
    CHECK(results.at(0).at("status") == "ok");
  }

  TEST_CASE("has its first fault told where it was found") {
    std::string text = kScale;
    text.replace(text.find("factor(a)"), 9, "faktor(a)");
    const ProgramResult result = OwnKernel(text).run(
        "tune", {"--device", "cpu", "--progress", "none", "--size", "n=96", "--trials", "2"});
    CHECK(has(result.out + result.err, "faktor"));
  }

  TEST_CASE("may have no sizes, and then has one problem") {
    const OwnKernel program(
        "#pragma kernel tune(BLOCK = 32, 64) block_size(BLOCK) problem_size(100) buffers(y[100])\n"
        "__global__ void ones(float* y) {\n"
        "  const int i = blockIdx.x * BLOCK + threadIdx.x;\n"
        "  if (i < 100) y[i] = 1;\n"
        "}\n");
    const Json document = program.tuned({});
    CHECK(document.at("measured") == 2);
    CHECK(document.at("results").at(0).at("problem") == "ones");
    CHECK(has(program.run("query", {"--device", "cpu"}).out, "\nones  exact "));
    const ProgramResult result = program.run("run", {"--device", "cpu", "--size", "n=4"});
    CHECK(result.exit_code == kUsage);
    CHECK(result.err == "autotune: --size: ones has no sizes: leave them out\n");
  }

  TEST_CASE("is written as source for nvcc") {
    const OwnKernel program;
    const std::filesystem::path folder = program.folder.path() / "source";
    const ProgramResult result =
        program.run("export", {"--source", "--arch", "sm_90", "--size", "n=1000", "--config",
                               "BLOCK=64,PER_THREAD=2", "--output", folder.string()});
    CAPTURE(result.err);
    CHECK(result.exit_code == kSuccess);
    std::ostringstream text;
    text << std::ifstream(folder / "scale_1000.cu").rdbuf();
    CHECK(has(text.str(), "#define PER_THREAD 2\n"));
    CHECK(has(text.str(), "dim3(8, 1, 1), dim3(64, 1, 1)"));
    CHECK(has(text.str(), "float scalar0 = 1.5;"));
    CHECK(has(text.str(), "cudaError_t scale_1000(const void* x, void* y, cudaStream_t stream)"));
  }

  TEST_CASE("may leave outputs unchecked, and writes results to files") {
    // Each configuration leaves other values, one of them NaN, and writes half of the elements.
    const OwnKernel program(R"(
__constant__ float factors[2] = {0.5f, 3};
#pragma kernel tune(BLOCK = 32, 64) block_size(BLOCK) problem_size(n) buffers(y[n], z[n])
#pragma kernel inout(y, z) unchecked(y, z) data(y = constant(7)) results(y = "y.npy")
__global__ void differ(float* y, int* z, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i >= n / 2) return;
  y[i] = i == 0 ? 0.0f / 0.0f : BLOCK * factors[1];
  z[i] = BLOCK;
}
)");
    const Json document = program.tuned({"--size", "n=200"});
    CHECK(document.at("measured") == 2);
    CHECK(document.at("results").at(0).at("status") == "ok");
    const std::string trials =
        program({"db", "export", "--format", "csv", "--kernel", program.file.string()}).out;
    CHECK(has(trials, "ok"));
    CHECK_FALSE(has(trials, "wrong"));
    const ProgramResult ran =
        program.run("run", {"--device", "cpu", "--size", "n=200", "--config", "BLOCK=64"});
    CHECK(ran.exit_code == kSuccess);
    const ElementBuffer y =
        read_npy(program.folder.path() / "y.npy",
                 {"y", TensorRole::inout, ElementType::f32, 1, 200, 200, 1, 200});
    CHECK(std::isnan(y.at(0)));
    CHECK(y.at(99) == 192);
    CHECK(y.at(100) == 7);
  }

  TEST_CASE("whose result is wrong is never a winner") {
    std::string text = kScale;
    text.insert(text.find("__global__"), "#pragma kernel tune(WRONG = 0, 1)\n");
    text.insert(text.rfind("  }\n}"), "    if (WRONG == 1 && i == 7) y[i] += 1;\n");
    const OwnKernel program(text);
    const Json document = program.tuned({"--size", "n=96"});
    CHECK(document.at("measured") == 12);
    const std::string trials =
        program({"db", "export", "--format", "csv", "--kernel", program.file.string()}).out;
    const std::string wrong = "1 of 96 elements of y are wrong";
    std::size_t found = 0;
    for (std::size_t at = trials.find(wrong); at != std::string::npos;
         at = trials.find(wrong, at + 1)) {
      ++found;
    }
    CHECK(found == 6);
    CHECK(has(document.at("results").at(0).at("configuration").dump(), "\"WRONG\":0"));
  }

  TEST_CASE("that is asked for wrongly gets one line, and nothing is stored") {
    const OwnKernel program;
    const auto refused = [&](const std::vector<std::string>& arguments, const std::string& says) {
      const ProgramResult result = program(arguments);
      CAPTURE(result.err);
      CHECK(result.exit_code == kUsage);
      CHECK(lines(result.err) == 1);
      CHECK(has(result.err, says));
    };
    const std::string file = program.file.string();
    refused({"tune", "--kernel", file}, "--size is missing");
    refused({"tune", "--kernel", file, "--size", "m=1"}, "scale has no size 'm': its sizes are n");
    refused({"tune", "--kernel", file, "--size", "n=0"}, "'n=0' must be NAME=N");
    refused({"tune", "--kernel", file, "--size", "n=4,n=5"}, "size 'n' is given twice");
    refused({"tune", "--kernel", file, "--size", "n=4,5"},
            "5 has no name: repeat --size for several problems, e.g. --size n=4 --size n=5");
    refused({"tune", file}, "a kernel of your own is named by --kernel " + file);
    refused({"tune", "--kernel", file, "--sizes", "100"}, "sizes have names");
    refused({"tune", "--kernel", file, "--size", "n=4", "--math", "tf32"}, "leave it out");
    refused({"tune", "--size", "n=4"}, "sizes of products are given by --sizes");
    refused({"tune", "--kernel", file + ":other", "--size", "n=4"}, "no kernel 'other'");
    refused({"tune", "--kernel", "/no/file.cu", "--size", "n=4"}, "cannot be read");
    refused({"sweep", "--kernel", file, "--size", "n=4", "--device", "cpu"}, "--only must name");
    CHECK_FALSE(std::filesystem::exists(program.database));
  }
}

}  // namespace autotune::test
