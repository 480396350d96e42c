// The search space of gemm_skinny16, its defaults and its launches.
#include <algorithm>

#include <doctest/doctest.h>

#include "autotune/problem.hpp"

#include "core/element_type.hpp"
#include "kernel_templates/kernel_set.hpp"
#include "operation/gemm/gemm.hpp"

namespace autotune {
namespace {

const KernelTemplate& gemm_skinny16() {
  return *built_in_kernels().find("gemm_skinny16");
}

GemmProblem of_16_bit(std::int64_t m, std::int64_t n, std::int64_t k, const char* layout) {
  GemmProblem problem{.m = m, .n = n, .k = k};
  problem.types = {ElementType::bf16, ElementType::bf16, ElementType::f32};
  set_layout(problem, layout);
  return problem;
}

TEST_SUITE("gemm_skinny16 space") {
  TEST_CASE("thousands of configurations are valid, each parameter with all its values") {
    const Enumeration all = gemm_skinny16().space.enumerate();
    CHECK(all.configurations.size() > 1'000);
    CHECK(all.configurations.size() < 10'000);
    for (const TuningParameter& parameter : gemm_skinny16().space.parameters()) {
      for (const std::int64_t value : parameter.values) {
        CAPTURE(parameter.name);
        CAPTURE(value);
        CHECK(std::any_of(all.configurations.begin(), all.configurations.end(),
                          [&](const Configuration& c) { return c.at(parameter.name) == value; }));
      }
    }
  }

  TEST_CASE("some dozens of configurations fit each size, the default among them") {
    const Enumeration all = gemm_skinny16().space.enumerate();
    for (const std::int64_t few : {1, 3, 8, 16}) {
      for (const std::int64_t lines : {16, 256, 5001, 100'000}) {
        for (const std::int64_t k : {1, 128, 7168}) {
          for (const char* layout : {"NN", "NT", "TN", "TT"}) {
            for (const bool few_rows : {true, false}) {
              const GemmProblem problem =
                  of_16_bit(few_rows ? few : lines, few_rows ? lines : few, k, layout);
              CAPTURE(to_string(problem));
              REQUIRE(computes(gemm_skinny16(), problem));
              const Configuration c = gemm_skinny16().default_configuration(problem);
              CHECK_NOTHROW(static_cast<void>(gemm_skinny16().space.validated(c)));
              CHECK(gemm_skinny16().fits(c, problem));
              const LaunchGeometry geometry = gemm_skinny16().geometry(c, problem);
              CHECK((geometry.workspace_bytes_per_block > 0) == (c.at("SPLIT_K") > 1));
              if (!few_rows || k != 7168) continue;
              const auto fitting = std::count_if(
                  all.configurations.begin(), all.configurations.end(),
                  [&](const Configuration& each) { return gemm_skinny16().fits(each, problem); });
              CHECK(fitting >= 8);
              CHECK(fitting <= 500);
            }
          }
        }
      }
    }
  }

  TEST_CASE("lanes lie along what is contiguous in memory") {
    const Configuration c = gemm_skinny16().space.validated(Configuration::parse(
        "FEW_SIDE=0,FEW=4,LINES=2,LANES_K=32,WARPS=1,SLICE_K=4,UNROLL=8,SPLIT_K=1"));
    CHECK(gemm_skinny16().fits(c, of_16_bit(4, 4096, 4096, "NT")));
    CHECK_FALSE(gemm_skinny16().fits(c, of_16_bit(4, 4096, 4096, "NN")));
    CHECK_FALSE(gemm_skinny16().fits(c, of_16_bit(4096, 4, 4096, "NN")));  // few columns
    CHECK_FALSE(gemm_skinny16().fits(c, of_16_bit(5, 4096, 4096, "NT")));  // more than FEW
  }

  TEST_CASE("few lines that are K-major need no shared memory but for sums") {
    const Configuration c = gemm_skinny16().space.validated(Configuration::parse(
        "FEW_SIDE=0,FEW=4,LINES=2,LANES_K=32,WARPS=1,SLICE_K=4,UNROLL=8,SPLIT_K=1"));
    const auto shared_bytes = [&](const char* layout) {
      return gemm_skinny16().geometry(c, of_16_bit(4, 4096, 4096, layout)).dynamic_shared_bytes;
    };
    CHECK(shared_bytes("NT") == 4 * 4 * 4 * 2);
    CHECK(shared_bytes("TT") == 2 * 8192 + 4 * 16);
  }

  TEST_CASE("a tile is split as far as it has batches of K") {
    const Configuration c = gemm_skinny16().space.validated(Configuration::parse(
        "FEW_SIDE=0,FEW=1,LINES=1,LANES_K=32,WARPS=1,SLICE_K=4,UNROLL=8,SPLIT_K=8"));
    const auto blocks = [&](std::int64_t n, std::int64_t k) {
      return gemm_skinny16().geometry(c, of_16_bit(1, n, k, "NT")).blocks();
    };
    CHECK(blocks(256, 7168) == 256 * 8);
    CHECK(blocks(256, 1500) == 256 * 3);
    CHECK(blocks(256, 500) == 256);
    CHECK(blocks(1000, 7168) == 1000);  // there is enough to do
  }

  TEST_CASE("FP32, and more than 16 rows and columns, are left to others") {
    GemmProblem problem = of_16_bit(16, 5000, 1, "NN");
    CHECK(computes(gemm_skinny16(), problem));
    problem.m = 17;
    CHECK_FALSE(computes(gemm_skinny16(), problem));
    CHECK_FALSE(computes(gemm_skinny16(), GemmProblem{.m = 1, .n = 5000, .k = 1}));
  }
}

}  // namespace
}  // namespace autotune
