// The run-time compiler itself, as this machine has it.
#include "gpu/nvrtc.hpp"

#include <cstdio>
#include <memory>
#include <regex>

#include <doctest/doctest.h>

#include "autotune/error.hpp"

#include "core/cubin.hpp"

namespace autotune::gpu {
namespace {

// 512 bytes of shared memory, and registers in use.
const std::string kSource =
    "extern \"C\" __global__ void reverse(float* x) {\n"
    "  __shared__ float s[128];\n"
    "  s[threadIdx.x] = x[threadIdx.x];\n"
    "  __syncthreads();\n"
    "  x[threadIdx.x] = s[127 - threadIdx.x];\n"
    "}\n";

// nullptr, with a note, on a machine without NVRTC.
std::shared_ptr<const Nvrtc> open_nvrtc() {
  try {
    return Nvrtc::open();
  } catch (const EnvironmentError&) {
    std::printf("SKIPPED: no NVRTC\n");
    return nullptr;
  }
}

std::string refusal(const Nvrtc& nvrtc, const std::string& source) {
  const CompileResult result = nvrtc.compile("refused", source, {"-arch=sm_90"});
  CHECK_FALSE(result.ok);
  CHECK(result.image == "");
  return result.log;
}

TEST_SUITE("Nvrtc") {
  TEST_CASE("compiles for each architecture that it lists") {
    const auto nvrtc = open_nvrtc();
    if (!nvrtc) return;
    CHECK(!nvrtc->architectures().empty());
    for (const std::string& architecture : nvrtc->architectures()) {
      CAPTURE(architecture);
      const CompileResult result =
          nvrtc->compile("reverse", kSource, {"-arch=" + architecture, "--ptxas-options=-v"});
      CAPTURE(result.log);
      REQUIRE(result.ok);
      const auto info = read_cubin(result.image);
      REQUIRE(info);
      CHECK("sm_" + std::to_string(info->architecture) == architecture);
      REQUIRE(info->kernels.size() == 1);
      CHECK(info->kernels[0].name == "reverse");
    }
  }

  TEST_CASE("registers and shared bytes are the same in the log and in the cubin") {
    const auto nvrtc = open_nvrtc();
    if (!nvrtc) return;
    for (const std::string& architecture : nvrtc->architectures()) {
      CAPTURE(architecture);
      const CompileResult result =
          nvrtc->compile("reverse", kSource, {"-arch=" + architecture, "--ptxas-options=-v"});
      CAPTURE(result.log);
      const auto info = read_cubin(result.image);
      REQUIRE(info);
      REQUIRE(info->kernels.size() == 1);
      CHECK(info->kernels[0].registers > 0);
      CHECK(result.resources.registers == info->kernels[0].registers);
      CHECK(result.resources.shared_bytes == 512);
      CHECK(info->kernels[0].shared_bytes == 512);
      CHECK(result.resources.spill_bytes == 0);
      CHECK(result.resources.stack_bytes == 0);
      CHECK(result.resources.cubin_bytes == static_cast<std::int64_t>(result.image.size()));
    }
  }

  TEST_CASE("without the option for figures there are none") {
    const auto nvrtc = open_nvrtc();
    if (!nvrtc) return;
    const CompileResult result = nvrtc->compile("reverse", kSource, {"-arch=sm_90"});
    CHECK(result.ok);
    CHECK(result.resources.registers == -1);
    CHECK(result.resources.spill_bytes == -1);
  }

  TEST_CASE("a syntax error gives a log that names the file and line") {
    const auto nvrtc = open_nvrtc();
    if (!nvrtc) return;
    const CompileResult result =
        nvrtc->compile("broken", "\n\nextern \"C\" __global__ void k() { int x = ; }\n", {});
    CHECK_FALSE(result.ok);
    CHECK(result.image == "");
    CHECK_MESSAGE(result.log.find("broken.cu(3): error") != std::string::npos, result.log);
    CHECK(result.resources.registers == -1);
  }

  TEST_CASE("an option that it does not know gives a log") {
    const auto nvrtc = open_nvrtc();
    if (!nvrtc) return;
    const CompileResult result = nvrtc->compile("reverse", kSource, {"-arch=sm_1"});
    CHECK_FALSE(result.ok);
    CHECK_MESSAGE(result.log.find("error") != std::string::npos, result.log);
  }

  TEST_CASE("a log has an end") {
    const auto nvrtc = open_nvrtc();
    if (!nvrtc) return;
    std::string source;
    for (int i = 0; i < 5000; ++i) source += "#warning " + std::string(100, 'w') + "\n";
    const CompileResult result = nvrtc->compile("loud", source, {"-arch=sm_90"});
    CHECK(result.log.size() == 64 << 10);

    // Whatever its phase, the cut falls between two characters of three bytes.
    for (int shift = 0; shift < 3; ++shift) {
      source = "#warning " + std::string(static_cast<std::size_t>(shift), '-');
      for (int i = 0; i < 60000; ++i) source += "\xe2\x82\xac";
      const std::string log = nvrtc->compile("wide", source + "\n", {"-arch=sm_90"}).log;
      CAPTURE(log.size());
      CHECK(log.size() > (64 << 10) - 3);
      CHECK(log.size() <= 64 << 10);
      CHECK(log.substr(log.size() - 3) == "\xe2\x82\xac");
    }
  }

  TEST_CASE("a virtual architecture gives PTX") {
    const auto nvrtc = open_nvrtc();
    if (!nvrtc) return;
    const CompileResult result = nvrtc->compile("reverse", kSource, {"-arch=compute_90"});
    REQUIRE(result.ok);
    CHECK(result.image == result.ptx);
    CHECK(result.image.find(".target sm_90") != std::string::npos);
    CHECK(result.image.find(".entry reverse") != std::string::npos);
    CHECK_FALSE(looks_like_elf(result.image));
  }

  TEST_CASE("a source with a zero byte is refused") {
    const auto nvrtc = open_nvrtc();
    if (!nvrtc) return;
    CHECK(refusal(*nvrtc, kSource + '\0' + kSource) == "error: the source has a zero byte");
  }

  TEST_CASE("a source of 1 MiB is compiled and a longer one refused") {
    const auto nvrtc = open_nvrtc();
    if (!nvrtc) return;
    std::string source = kSource;
    source.resize(1 << 20, ' ');
    CHECK(nvrtc->compile("long", source, {"-arch=sm_90"}).ok);
    CHECK(refusal(*nvrtc, source + ' ') == "error: the source is longer than 1 MiB");
  }

  TEST_CASE("the build has the version and the change that it was made of") {
    const auto nvrtc = open_nvrtc();
    if (!nvrtc) return;
    CAPTURE(nvrtc->build());
    CHECK(std::regex_match(nvrtc->build(), std::regex("[0-9]+\\.[0-9]+\\.[0-9]+ CL-[0-9]+")));
    const std::string version =
        std::to_string(nvrtc->major()) + "." + std::to_string(nvrtc->minor()) + ".";
    CHECK(nvrtc->build().rfind(version, 0) == 0);
    CHECK(nvrtc->path().find("libnvrtc") != std::string::npos);
  }

  TEST_CASE("a library that is not there or is not a compiler is told apart") {
    ::setenv("AUTOTUNE_NVRTC", "/nowhere/libnvrtc.so.13", 1);
    CHECK_THROWS_WITH_AS(Nvrtc::open(), doctest::Contains("was not found"), EnvironmentError);
    ::setenv("AUTOTUNE_NVRTC", "libm.so.6", 1);
    CHECK_THROWS_WITH_AS(Nvrtc::open(), doctest::Contains("is not an NVRTC"), EnvironmentError);
    ::unsetenv("AUTOTUNE_NVRTC");
  }
}

}  // namespace
}  // namespace autotune::gpu
