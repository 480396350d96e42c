// autotune export --source: what it writes, and what it leaves alone.
#include <array>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "autotune/problem.hpp"

#include "db/tuning_database.hpp"
#include "kernel_templates/kernel_set.hpp"
#include "tests/cli/program.hpp"

namespace autotune::test {
namespace {

const std::string kStem = "gemm_512x512x512_f32_nn_strict";
constexpr std::array kEnds = {".h", ".cu", "_kernel.cuh", "_test.cpp"};

std::string contents(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

struct Export {
  Program program;
  std::filesystem::path folder = program.folder.path() / "new" / "source";

  ProgramResult operator()(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {"export", "--source", "--sizes",  "512",
                                          "--arch", "sm_90",    "--output", folder};
    if (more.empty()) more = {"--template", "gemm_tma"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return program(arguments);
  }
  [[nodiscard]] std::size_t files() const {
    if (!std::filesystem::exists(folder)) return 0;
    const std::filesystem::directory_iterator all(folder);
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }
};

TEST_SUITE("export") {
  TEST_CASE("a kernel is four files with the licence, and the command that compiles them") {
    const Export write;
    const ProgramResult result = write();
    CHECK(result.exit_code == kSuccess);
    CHECK(has(result.out,
              "nvcc -O2 -gencode=arch=compute_90a,code=sm_90a -Xptxas=--register-usage-level="));
    REQUIRE(write.files() == kEnds.size());
    for (const char* end : kEnds) {
      const std::string text = contents(write.folder / (kStem + end));
      CAPTURE(end);
      CHECK(text.rfind("// Written by autotune ", 0) == 0);
      CHECK(has(text, "// MIT License"));
      CHECK_FALSE(has(text, "#line"));
    }
    CHECK(has(contents(write.folder / (kStem + ".h")), "cudaError_t " + kStem + "(const float* a"));
  }

  TEST_CASE("a batch is written with a function that takes the products and their strides") {
    const Export write;
    REQUIRE(write({"--template", "gemm_tma", "--batch", "6"}).exit_code == kSuccess);
    const std::string stem = "gemm_512x512x512x6_f32_nn_strict";
    const std::string header = contents(write.folder / (stem + ".h"));
    CHECK(has(header, "int64_t ldc, int64_t stride_c,"));
    CHECK(has(header, "int64_t batch, void* workspace"));
    CHECK(has(header, "//   batch         products, from 1 to 6\n"));
    const std::string launch = contents(write.folder / (stem + ".cu"));
    const KernelTemplate& kernel = *built_in_kernels().find("gemm_tma");
    const GemmProblem alone{.m = 512, .n = 512, .k = 512};
    GemmProblem batch = alone;
    batch.batch = 6;
    const LaunchGeometry geometry = kernel.geometry(kernel.default_configuration(batch), batch);
    CHECK(
        has(launch, "static_cast<unsigned>(" + std::to_string(geometry.grid[0] / 6) + " * batch)"));
    CHECK(has(launch, "&batch, &stride_a, &stride_b, &stride_c}"));
    CHECK(has(launch, "(stride_b == 0 ? 1 : batch)"));
    CHECK(has(contents(write.folder / (stem + "_kernel.cuh")), "#define BATCHED 1\n"));
  }

  TEST_CASE("the winner of a device is written without a word on templates") {
    const Program program;
    const std::filesystem::path folder = program.folder.path() / "source";
    const ProgramResult result =
        program({"export", "--source", "--sizes", "2048,1024x512x2048", "--layout", "TN",
                 "--device", "H200", "--output", folder});
    CHECK(result.exit_code == kSuccess);
    CHECK(std::filesystem::exists(folder / "gemm_2048x2048x2048_f32_tn_strict.cu"));
    CHECK(std::filesystem::exists(folder / "gemm_1024x512x2048_f32_tn_strict.cu"));
  }

  TEST_CASE("its own files are replaced, others only with --force") {
    const Export write;
    REQUIRE(write().exit_code == kSuccess);
    const std::string first = contents(write.folder / (kStem + ".cu"));
    CHECK(write({"--template", "gemm_tiled"}).exit_code == kSuccess);
    CHECK(contents(write.folder / (kStem + ".cu")) != first);

    std::ofstream(write.folder / (kStem + ".h")) << "mine";
    const ProgramResult refused = write();
    CHECK(refused.exit_code == kUsage);
    CHECK(has(refused.err, kStem + ".h is there, and autotune has not written it: --force"));
    CHECK(contents(write.folder / (kStem + ".h")) == "mine");
    CHECK_FALSE(contents(write.folder / (kStem + ".cu")) == first);

    CHECK(write({"--template", "gemm_tma", "--force"}).exit_code == kSuccess);
    CHECK(contents(write.folder / (kStem + ".cu")) == first);
    CHECK(write.files() == kEnds.size());
  }

  TEST_CASE("a folder that takes no file is left as it was") {
    const Export write;
    REQUIRE(write().exit_code == kSuccess);
    // The last of the files has no place.
    const std::filesystem::path last = write.folder / (kStem + "_test.cpp");
    const std::string kernel = contents(write.folder / (kStem + ".cu"));
    std::filesystem::remove(last);
    std::filesystem::create_directories(last / "something");
    const ProgramResult result = write({"--template", "gemm_tiled", "--force"});
    CHECK(result.exit_code == kUsage);
    CHECK(has(result.err, "cannot be written"));
    CHECK(result.out == "");
    CHECK(contents(write.folder / (kStem + ".cu")) == kernel);
    CHECK(write.files() == kEnds.size());
  }

  TEST_CASE("the CPU device has no CUDA source, by whatever name it is called") {
    const Program program;
    {
      const KernelTemplate& kernel = *built_in_kernels().find("gemm_tiled");
      Winner winner;
      winner.device_class = "cpu/4sm/l2-0";
      winner.device_label = "cpu: some processor";
      winner.problem = GemmProblem{.m = 512, .n = 512, .k = 512};
      winner.template_name = kernel.name;
      winner.space_version = kernel.space_version;
      winner.configuration = kernel.default_configuration(winner.problem);
      winner.median_us = winner.low_us = winner.high_us = 100;
      TuningDatabase::open(program.database).put_winners(std::vector{winner});
    }
    const std::string folder = program.folder.path() / "source";
    for (const char* name : {"cpu", "some processor"}) {
      CAPTURE(name);
      const ProgramResult result = program({"export", "--source", "--sizes", "512", "--device",
                                            name, "--db", program.database, "--output", folder});
      CHECK(result.exit_code == 2);
      CHECK(has(result.err, "the CPU device has no CUDA source"));
    }
  }

  TEST_CASE("nothing is written where nothing is known") {
    const Program program;
    const std::filesystem::path folder = program.folder.path() / "source";
    const ProgramResult result = program(
        {"export", "--source", "--sizes", "64", "--device", "No Such GPU", "--output", folder});
    CHECK(result.exit_code == kNothingStored);
    CHECK(has(result.err, "NVIDIA H200"));
    CHECK_FALSE(std::filesystem::exists(folder));
  }
}

}  // namespace
}  // namespace autotune::test
