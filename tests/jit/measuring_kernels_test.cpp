// The device code of the measuring worker through the real NVRTC: it compiles for every
// architecture, without spills, and holds the kernels that the program launches.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>

#include "autotune/error.hpp"

#include "core/cubin.hpp"
#include "gpu/nvrtc.hpp"

namespace autotune {
namespace {

std::string kernel_text(const std::string& file) {
  const auto path =
      std::filesystem::path(AUTOTUNE_SOURCE_DIR) / "tuner" / "measure" / "kernels" / file;
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

void compile_everywhere(const std::string& file, std::vector<std::string> expected) {
  std::shared_ptr<const gpu::Nvrtc> nvrtc;
  try {
    nvrtc = gpu::Nvrtc::open();
  } catch (const EnvironmentError& error) {
    std::printf("SKIPPED: %s\n", error.what());
    return;
  }
  std::sort(expected.begin(), expected.end());
  for (const std::string& architecture : nvrtc->architectures()) {
    CAPTURE(architecture);
    const gpu::CompileResult result =
        nvrtc->compile(file, kernel_text(file), {"-arch=" + architecture, "-Xptxas=-v"});
    CAPTURE(result.log);
    REQUIRE(result.ok);
    // The log has a line for each kernel.
    for (std::size_t at = 0; (at = result.log.find("bytes spill stores", at)) != std::string::npos;
         ++at) {
      CHECK(result.log.substr(at - 3, 3) == " 0 ");
    }
    const auto cubin = read_cubin(result.image);
    REQUIRE(cubin.has_value());
    std::vector<std::string> names;
    for (const CubinKernel& kernel : cubin->kernels) names.push_back(kernel.name);
    std::sort(names.begin(), names.end());
    CHECK(names == expected);
  }
}

TEST_SUITE("MeasuringKernels") {
  TEST_CASE("the verification kernels compile for every architecture") {
    compile_everywhere("verification.cu",
                       {"fill_integers", "fill_uniform", "fill_linear", "reference_integers",
                        "reference_real", "check_integers", "check_real"});
  }

  TEST_CASE("the calibration kernels compile for every architecture") {
    compile_everywhere("calibration.cu", {"multiply_adds", "copy"});
  }
}

}  // namespace
}  // namespace autotune
