// Accesses outside of shared and global memory, found when this program and the kernels are built
// with the address sanitizer.
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cpu/compiler.hpp"
#include "cpu/launcher.hpp"
#include "tests/base/cpu/device/cpu_kernels.hpp"
#include "tests/support/gemm.hpp"

namespace {

// Runs a kernel of one block in a child process and returns the sanitizer's report.
[[maybe_unused]] std::string last_words(const std::string& source) {
  setenv("AUTOTUNE_CPU_SANITIZE", "1", 1);
  const autotune::CpuCompileResult compiled = autotune::CpuCompiler().compile("simple", source, {});
  unsetenv("AUTOTUNE_CPU_SANITIZE");
  REQUIRE_MESSAGE(compiled.ok, compiled.log);
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    const std::vector<float> a(64, 1);
    const std::vector<float> b(64, 1);
    std::vector<float> c(64, 0);
    autotune::CpuLauncher launcher(1);
    const autotune::CpuKernel kernel = launcher.load(compiled.image, "simple");
    const std::int64_t block = 0;
    autotune::test::GemmArguments arguments({a.data(), b.data(), c.data(), 8, 8, 8, 8, 8, 8});
    static_cast<void>(
        launcher.launch(kernel, arguments.pointers(), {.block = {8, 8, 1}}, {&block, 1}));
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char piece[4096];
  for (ssize_t count; (count = read(ends[0], piece, sizeof piece)) > 0;) {
    text.append(piece, static_cast<std::size_t>(count));
  }
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return text;
}

[[maybe_unused]] std::string with_tile(const std::string& access) {
  return host_kernels::simple(
      "__shared__ float tile[64]; const int own = threadIdx.y * 8 + threadIdx.x;" + access,
      host_kernels::kStore);
}

}  // namespace

TEST_SUITE("sanitized kernels") {
#if defined(__SANITIZE_ADDRESS__)
  TEST_CASE("a right kernel is silent") {
    CHECK(last_words(with_tile("tile[own] = 0; __syncthreads();")) == "");
  }

  TEST_CASE("an access behind shared memory is found") {
    CHECK(last_words(with_tile("tile[own + 1] = 0; __syncthreads();")).find("simple.cu:") !=
          std::string::npos);
  }

  TEST_CASE("a load behind a matrix is found") {
    const std::string text = last_words(with_tile("tile[own] = a[own + 1]; __syncthreads();"));
    CHECK(text.find("heap-buffer-overflow") != std::string::npos);
    CHECK(text.find("simple.cu:") != std::string::npos);
  }
#else
  TEST_CASE("accesses outside of memory are found") {
    std::cout << "SKIPPED: needs the address sanitizer: AUTOTUNE_TEST_PRESET=asan\n";
  }
#endif
}
