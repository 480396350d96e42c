// autotune export --bundle, and applications with what it wrote.
#include <cstdint>
#include <cstdio>

#include <doctest/doctest.h>

#include "autotune/autotune.hpp"

#include "export/bundle/bundle.hpp"
#include "tests/cli/program.hpp"
#include "tests/support/fake_cuda.hpp"

namespace autotune::test {
namespace {

struct Exporter {
  Program program;
  std::string path = program.folder.path() / "app.bundle";
  // Asks the program: this process is to stay without NVRTC.
  bool can_compile =
      program({"show", "--sizes", "64", "--arch", "sm_90", "--template", "gemm_tiled", "--log"})
          .exit_code != kEnvironment;

  Exporter() {
    if (!can_compile) std::printf("SKIPPED: no NVRTC\n");
  }

  ProgramResult operator()(const std::string& sizes, std::vector<std::string> device) const {
    std::vector<std::string> arguments = {"export",         "--bundle", path,
                                          "--no-portfolio", "--sizes",  sizes};
    arguments.insert(arguments.end(), device.begin(), device.end());
    return program(arguments);
  }
};

// How many libraries of that name the process has loaded.
std::size_t loaded(const std::string& name) {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) count += has(line, name) ? 1 : 0;
  return count;
}

TEST_SUITE("export --bundle") {
  TEST_CASE("a bundle has every layout for operands at any address, and runs without NVRTC") {
    const Exporter write;
    if (!write.can_compile) return;
    const ProgramResult result = write("64", {"--arch", "sm_90a", "--progress", "plain"});
    CHECK(result.exit_code == kSuccess);
    CHECK(has(result.out, "64x64x64: gemm_simt, nothing is stored"));
    CHECK(lines(result.out) == 5);
    CHECK(has(result.err, "\ncompile ["));
    CHECK(has(result.err, "  1/9\n"));
    // Four layouts, of aligned operands and of others, and the kernel that scales C.
    CHECK(has(result.out, write.path + ": 9 kernels for sm_90, " +
                              std::to_string(std::filesystem::file_size(write.path)) + " bytes\n"));

    const FakeCuda cuda;
    const std::size_t nvrtc = loaded("libnvrtc");
    LibraryOptions options;
    options.bundle = write.path;
    Library library(options);
    float* const c = reinterpret_cast<float*>(std::uintptr_t{1} << 32);
    const float* const a = reinterpret_cast<float*>(std::uintptr_t{1} << 40);
    for (const char* layout : {"NN", "NT", "TN", "TT"}) {
      GemmProblem problem{64, 64, 64};
      set_layout(problem, layout);
      for (const float* each : {a, a + 1}) {
        CHECK(library.gemm(problem, 1, {each}, {a}, 0, {c}) == MatchKind::predicted);
        CHECK(library.gemm({100, 70, 30}, 1, {each}, {a}, 0, {c}) == MatchKind::predicted);
      }
    }
    CHECK_NOTHROW(library.gemm({64, 64, 64}, 0, {}, {}, 2, {c}));
    CHECK(loaded("libcuda") > 0);
    CHECK(loaded("libnvrtc") == nvrtc);
  }

  TEST_CASE("sizes with one kernel share it, and the same command writes the same bytes") {
    const Exporter write;
    if (!write.can_compile) return;
    const auto contents = [&] {
      std::ostringstream text;
      text << std::ifstream(write.path, std::ios::binary).rdbuf();
      return text.str();
    };
    CHECK(has(write("448,512", {"--arch", "sm_90"}).out, ": 9 kernels for sm_90, "));
    const std::string first = contents();
    CHECK(write("448,512", {"--arch", "sm_90"}).exit_code == kSuccess);  // it replaces the first
    CHECK(contents() == first);
  }

  TEST_CASE("the winners of a device are for that device") {
    const Exporter write;
    if (!write.can_compile) return;
    const ProgramResult result = write("1024", {"--device", "H200"});
    CHECK(result.exit_code == kSuccess);
    CHECK(has(result.out, " kernels for NVIDIA H200 (sm_90), "));
    CHECK(has(result.out, "1024x1024x1024 TT: gemm_tma, tuned for this size"));
    const Bundle bundle(write.path);
    CHECK(bundle.target().device == "NVIDIA H200");
    CHECK(bundle.target().architecture == "sm_90");
    CHECK_FALSE(bundle.compiler().empty());
  }

  TEST_CASE("a file that is no bundle is overwritten only with --force") {
    const Exporter write;
    if (!write.can_compile) return;
    std::ofstream(write.path) << "mine";
    const ProgramResult refused = write("64", {"--arch", "sm_90"});
    CHECK(refused.exit_code == kUsage);
    CHECK(has(refused.err, "--bundle: " + write.path + " is there, and autotune has not"));
    CHECK(lines(refused.err) == 1);  // nothing was compiled for it
    CHECK(write("64", {"--arch", "sm_90", "--force"}).exit_code == kSuccess);
    CHECK_NOTHROW(Bundle{write.path});
  }

  TEST_CASE("nothing is written where nothing is known, or there is no compiler") {
    Exporter write;
    const ProgramResult unknown = write("64", {"--device", "No Such GPU"});
    CHECK(unknown.exit_code == kNothingStored);
    CHECK(has(unknown.err, "nothing is known of No Such GPU: name a device (known: "));
    write.program.environment.emplace_back("AUTOTUNE_NVRTC", "/nonexistent/libnvrtc.so");
    CHECK(write("64", {"--arch", "sm_90"}).exit_code == kEnvironment);
    CHECK_FALSE(std::filesystem::exists(write.path));
  }
}

}  // namespace
}  // namespace autotune::test
