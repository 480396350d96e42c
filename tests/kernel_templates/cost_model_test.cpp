#include "kernel_templates/cost_model.hpp"

#include <doctest/doctest.h>

#include "autotune/problem.hpp"

#include "kernel_templates/kernel_set.hpp"

namespace autotune {
namespace {

const SmLimits kSm = *sm_limits("sm_90");

// Tiles of 128 x 128 by 256 threads.
const char* const kLargeTiles =
    "RESULTS_M=8,RESULTS_N=8,LANES_M=4,WARPS_M=4,WARPS_N=2,SLICE_K=1,BLOCK_K=16,SHARED_K_MAJOR=0,"
    "UNROLL=16,STAGES=3,DOUBLE_BUFFER=1,MIN_BLOCKS=1,SPLIT_K=1,CLUSTER=1,ORDER=0,REGISTER_LEVEL=5,"
    "RASTER=8,"
    "STAGE_EPILOGUE=0";

double simt_cycles(const GemmProblem& problem, int sm_count,
                   const char* configuration = kLargeTiles) {
  return predicted_cycles(*built_in_kernels().find("gemm_simt"),
                          Configuration::parse(configuration), problem, kSm, sm_count);
}
double simt_cycles(std::int64_t m, std::int64_t n, std::int64_t k, int sm_count,
                   const char* configuration = kLargeTiles) {
  return simt_cycles({.m = m, .n = n, .k = k}, sm_count, configuration);
}

TEST_SUITE("cost model") {
  TEST_CASE("half the SMs take twice the rounds") {
    const double few = simt_cycles(16384, 16384, 1024, 64);
    CHECK(few == doctest::Approx(2 * simt_cycles(16384, 16384, 1024, 128)));
  }

  TEST_CASE("each block on an SM takes its time, all on SMs of their own take that of one") {
    const double one = simt_cycles(128, 128, 8192, 1);
    double before = one;
    for (std::int64_t blocks = 2; blocks <= 8; ++blocks) {
      const double cycles = simt_cycles(128 * blocks, 128, 8192, 1);
      CHECK(cycles > before);
      before = cycles;
    }
    // Two at a time fill the SM better than each alone, but not by much.
    CHECK(before > 7 * one);
    CHECK(before < 8 * one);
    CHECK(simt_cycles(8 * 128, 128, 8192, 8) == doctest::Approx(one));
  }

  TEST_CASE("a batch takes as long as one product of as many tiles") {
    const GemmProblem batch{.m = 128, .n = 128, .k = 512, .batch = 1000};
    CHECK(simt_cycles(batch, 132) == doctest::Approx(simt_cycles(128 * 1000, 128, 512, 132)));
  }

  TEST_CASE("what a tile computes beyond C costs as much as the rest") {
    CHECK(simt_cycles(1000, 1000, 512, 132) == doctest::Approx(simt_cycles(1024, 1024, 512, 132)));
  }

  TEST_CASE("threads with one result each wait for shared memory") {
    const KernelTemplate& tiled = *built_in_kernels().find("gemm_tiled");
    const Problem problem = GemmProblem{.m = 2048, .n = 2048, .k = 2048};
    Configuration configuration = tiled.default_configuration(problem);
    configuration.set("RESULTS_M", 8);
    configuration.set("RESULTS_N", 4);
    const double many = predicted_cycles(tiled, configuration, problem, kSm, 132);
    configuration.set("RESULTS_M", 1);
    configuration.set("RESULTS_N", 1);
    CHECK(predicted_cycles(tiled, configuration, problem, kSm, 132) > 2 * many);
  }

  TEST_CASE("sharing K keeps more SMs busy") {
    const std::string alone(kLargeTiles);
    std::string shared = alone;
    shared.replace(shared.find("SPLIT_K=1"), 9, "SPLIT_K=3");
    const double one = simt_cycles(256, 256, 65536, 132);
    CHECK(simt_cycles(256, 256, 65536, 132, shared.c_str()) < one / 2);
  }

  TEST_CASE("sizes beyond 32 bits") {
    const double cycles = simt_cycles(1 << 20, 1 << 20, 1 << 20, 132);
    CHECK(cycles > 1e18 / 128 / 132);
    CHECK(cycles < 4e18 / 128 / 132);
  }
}

}  // namespace
}  // namespace autotune
