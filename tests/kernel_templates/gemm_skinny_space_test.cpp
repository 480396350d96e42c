// The search space of gemm_skinny, its defaults and its launches.
#include <doctest/doctest.h>

#include "autotune/problem.hpp"

#include "kernel_templates/kernel_set.hpp"

namespace autotune {
namespace {

const KernelTemplate& gemm_skinny() {
  return *built_in_kernels().find("gemm_skinny");
}

TEST_SUITE("gemm_skinny space") {
  TEST_CASE("thousands of configurations are valid, each parameter with all its values") {
    const Enumeration all = gemm_skinny().space.enumerate();
    CHECK(all.configurations.size() > 1'000);
    CHECK(all.configurations.size() < 50'000);
    for (const TuningParameter& parameter : gemm_skinny().space.parameters()) {
      for (const std::int64_t value : parameter.values) {
        CAPTURE(parameter.name);
        CAPTURE(value);
        CHECK(std::any_of(all.configurations.begin(), all.configurations.end(),
                          [&](const Configuration& c) { return c.at(parameter.name) == value; }));
      }
    }
  }

  TEST_CASE("defaults are valid, and all of K and of C is computed") {
    for (const std::int64_t few : {1, 2, 3, 5, 16, 17, 32}) {
      for (const std::int64_t lines : {1, 31, 777, 5000, 100'000}) {
        for (const std::int64_t k : {1, 40, 1000, 65'536, 2'000'000'000}) {
          for (const char* layout : {"NN", "NT", "TN", "TT"}) {
            for (const bool few_rows : {true, false}) {
              GemmProblem problem{.m = few_rows ? few : lines, .n = few_rows ? lines : few, .k = k};
              set_layout(problem, layout);
              CAPTURE(to_string(problem));
              REQUIRE(gemm_skinny().supports(problem));
              const Configuration c = gemm_skinny().default_configuration(problem);
              CHECK_NOTHROW(static_cast<void>(gemm_skinny().space.validated(c)));
              const LaunchGeometry geometry = gemm_skinny().geometry(c, problem);
              const bool split = geometry.workspace_bytes_per_block > 0;
              CHECK(split == (c.at("SPLIT_K") > 1));
              CHECK(geometry.blocks() % c.at("SPLIT_K") == 0);
              CHECK(geometry.dynamic_shared_bytes <= 96 << 10);
            }
          }
        }
      }
    }
  }

  TEST_CASE("products with more than 32 rows and columns are left to others") {
    CHECK_FALSE(gemm_skinny().supports(GemmProblem{.m = 33, .n = 33, .k = 1}));
    CHECK(gemm_skinny().supports(GemmProblem{.m = 32, .n = 5000, .k = 1}));
    CHECK(gemm_skinny().supports(GemmProblem{.m = 5000, .n = 32, .k = 1}));
  }

  TEST_CASE("a tile is split as far as it has batches of K") {
    const Configuration c = gemm_skinny().space.validated(Configuration::parse(
        "FEW_SIDE=0,FEW=1,LINES=4,LANES_K=1,WARPS=1,SLICE_K=8,UNROLL=8,SPLIT_K=8,L2_PERSIST=0"));
    const GemmProblem plain{.m = 1, .n = 4096, .k = 4096};
    CHECK(gemm_skinny().geometry(c, plain).blocks() == 32 * 8);
    CHECK(gemm_skinny().geometry(c, GemmProblem{.m = 3, .n = 129, .k = 17}).blocks() == 3 * 2 * 3);
    CHECK(gemm_skinny().geometry(c, GemmProblem{.m = 1, .n = 128, .k = 8}).workspace_bytes() == 0);
    const Configuration shared = gemm_skinny().space.validated(Configuration::parse(
        "FEW_SIDE=0,FEW=1,LINES=4,LANES_K=32,WARPS=1,SLICE_K=8,UNROLL=8,SPLIT_K=8,L2_PERSIST=0"));
    CHECK(gemm_skinny().geometry(shared, GemmProblem{.m = 1, .n = 2048, .k = 4096}).blocks() ==
          512 * 8);
    CHECK(gemm_skinny().geometry(shared, plain).blocks() == 1024);  // there is enough to do
  }
}

}  // namespace
}  // namespace autotune
