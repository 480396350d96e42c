// The launches of problems that no device can hold: their figures have 63 bits all the same.
#include <random>

#include <doctest/doctest.h>

#include "autotune/problem.hpp"

#include "kernel_templates/kernel_set.hpp"

namespace autotune::test {
namespace {

constexpr std::int64_t kMost = 2147483647;

std::vector<GemmProblem> largest_problems() {
  std::vector<GemmProblem> problems = {
      {.m = kMost, .n = kMost, .k = kMost},
      {.m = kMost, .n = kMost, .k = 1 << 21},
      {.m = kMost, .n = kMost, .k = 1 << 20},
      {.m = kMost, .n = 1, .k = kMost},
      {.m = 1, .n = kMost, .k = kMost},
      {.m = 1, .n = 1, .k = kMost, .batch = kMost},
      {.m = 1, .n = kMost, .k = 1, .batch = kMost},
      {.m = kMost, .n = 32, .k = 32, .batch = 1 << 26},
      {.m = 65536, .n = 32768, .k = 65536, .batch = 1 << 30},
  };
  const std::size_t count = problems.size();
  for (const Math math : {Math::emulated, Math::tf32}) {
    for (std::size_t i = 0; i < count; ++i) {
      problems.push_back(problems[i]);
      problems.back().math = math;
    }
  }
  return problems;
}

void check_figures(const LaunchGeometry& geometry) {
  const auto blocks = static_cast<double>(geometry.grid[0]) *
                      static_cast<double>(geometry.grid[1]) * static_cast<double>(geometry.grid[2]);
  CHECK(blocks < 0x1p63);
  CHECK(static_cast<double>(geometry.blocks()) == doctest::Approx(blocks));
  for (const std::int64_t extent : geometry.grid) CHECK(extent > 0);
  CHECK(geometry.grid[0] % geometry.blocks_per_cluster == 0);
  CHECK(geometry.workspace_bytes() >= 0);
  CHECK(geometry.workspace_bytes_shared >= 0);
  for (const auto& share : geometry.preparation.shares) {
    CHECK(share.blocks >= 0);
    CHECK(share.bytes >= 0);
  }
}

TEST_SUITE("the largest problems") {
  TEST_CASE("every template's launch of them has figures that are right") {
    for (const KernelTemplate& kernel : built_in_kernels().templates()) {
      CAPTURE(kernel.name);
      const auto configurations = kernel.space.enumerate().configurations;
      std::mt19937 generator(1);
      for (const Problem problem : largest_problems()) {
        if (!kernel.supports(problem)) continue;
        CAPTURE(problem.key());
        check_figures(kernel.geometry(kernel.default_configuration(problem), problem));
        for (int i = 0; i < 200; ++i) {
          check_figures(
              kernel.geometry(configurations[generator() % configurations.size()], problem));
        }
      }
    }
  }
}

}  // namespace
}  // namespace autotune::test
