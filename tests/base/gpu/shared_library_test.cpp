// Libraries are opened at run time, and only then.
#include "gpu/shared_library.hpp"

#include <array>
#include <cstdio>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "gpu/driver.hpp"
#include "tests/support/fake_cuda.hpp"

namespace autotune::test {
namespace {

std::string output_of(const std::string& command) {
  FILE* pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string text;
  std::array<char, 4096> part{};
  while (const std::size_t size = std::fread(part.data(), 1, part.size(), pipe)) {
    text.append(part.data(), size);
  }
  ::pclose(pipe);
  return text;
}

TEST_SUITE("SharedLibrary") {
  TEST_CASE("what links this module needs no library of CUDA to start") {
    const std::string program = std::filesystem::read_symlink("/proc/self/exe");
    const std::string libraries = output_of("ldd '" + program + "'");
    CHECK_MESSAGE(libraries.find("libc.so") != std::string::npos, libraries);
    for (const char* name : {"libcuda", "libnvrtc", "libnvidia-ml", "libcublas"}) {
      CHECK_MESSAGE(libraries.find(name) == std::string::npos, libraries);
    }
  }

  TEST_CASE("says why a library cannot be opened and takes the first that can") {
    std::string problem;
    CHECK_FALSE(gpu::SharedLibrary::open("/nowhere/libnone.so", &problem));
    CHECK(problem == "/nowhere/libnone.so was not found");
    CHECK_FALSE(gpu::SharedLibrary::open_first({"/etc/passwd"}, &problem));
    CHECK(problem == "/etc/passwd: invalid ELF header");
    const auto found = gpu::SharedLibrary::open_first({"/nowhere/libnone.so", "libm.so.6"});
    REQUIRE(found);
    CHECK(found->symbol("cos") != nullptr);
    CHECK(found->symbol("no_such_function") == nullptr);
    CHECK(found->path().find("libm.so.6") != std::string::npos);
  }

  TEST_CASE("looks into the folder of the toolkit in use first") {
    CHECK(gpu::toolkit_folders().front() == "/usr/local/cuda/lib64");
  }
}

TEST_SUITE("Driver") {
  TEST_CASE("the real stub of a toolkit is told apart") {
    for (const std::string& folder : gpu::toolkit_folders()) {
      const std::string stub = folder + "/stubs/libcuda.so";
      if (!std::filesystem::exists(stub)) continue;
      const FakeCuda fake;
      ::setenv("AUTOTUNE_LIBCUDA", stub.c_str(), 1);
      CHECK_THROWS_WITH_AS(gpu::Driver::open(), doctest::Contains("is the CUDA toolkit's stub"),
                           EnvironmentError);
      return;
    }
    std::printf("SKIPPED: no CUDA toolkit with a stub of the driver\n");
  }
}

}  // namespace
}  // namespace autotune::test
