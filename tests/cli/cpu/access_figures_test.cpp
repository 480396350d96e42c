// The accesses of the built-in kernels: what the comments in their texts promise of sectors and
// bank conflicts.
#include "cli/output/access_figures.hpp"

#include <doctest/doctest.h>

#include "autotune/error.hpp"
#include "autotune/problem.hpp"

#include "kernel_templates/kernel_set.hpp"

namespace autotune {
namespace {

GemmProblem problem_of(std::int64_t m, std::int64_t n, std::int64_t k, const char* layout = "NN") {
  GemmProblem problem{.m = m, .n = n, .k = k};
  set_layout(problem, layout);
  return problem;
}

std::vector<AccessSummary> figures(const char* name, const std::string& configuration,
                                   const GemmProblem& problem) {
  const KernelTemplate& kernel = *built_in_kernels().find(name);
  return access_figures(kernel, kernel.space.validated(Configuration::parse(configuration)),
                        problem);
}

AccessSummary tiled(const std::string& configuration, const GemmProblem& problem,
                    const std::string& name) {
  for (const AccessSummary& access : figures("gemm_tiled", configuration, problem)) {
    if (access.name == name) return access;
  }
  FAIL("no access is named ", name);
  return {};
}

const char* const kLayouts[] = {"NN", "NT", "TN", "TT"};

TEST_SUITE("access figures") {
  TEST_CASE("gemm_tiled: padding removes the conflicts of a tile that is transposed on the way") {
    for (const std::string width : {"8", "16", "32"}) {
      CAPTURE(width);
      const auto store = [&](const std::string& padding) {
        return tiled("TILE_WIDTH=" + width + ",UNROLL=" + width +
                         ",RESULTS_M=2,RESULTS_N=2,A_TRANSPOSED=1,VECTOR_WIDTH=1,PREFETCH=0,"
                         "PADDING=" +
                         padding,
                     problem_of(512, 512, 512), "store tile of A");
      };
      CHECK(store("1").transactions == store("1").least);
      CHECK(store("0").transactions > store("0").least);
      CHECK(store("0").bytes_per_lane == 8);  // a thread's two rows lie side by side
    }
  }

  TEST_CASE("gemm_tiled: rows that are not aligned cost sectors and wide loads") {
    const char* const wide =
        "TILE_WIDTH=16,RESULTS_M=4,RESULTS_N=4,UNROLL=16,A_TRANSPOSED=0,PADDING=0,VECTOR_WIDTH=4,"
        "PREFETCH=0";
    const AccessSummary aligned = tiled(wide, problem_of(512, 512, 512), "load A");
    CHECK(aligned.bytes_per_lane == 16);
    CHECK(aligned.transactions == 16);
    CHECK(aligned.least == 16);
    const AccessSummary unaligned = tiled(wide, problem_of(512, 512, 513), "load A");
    CHECK(unaligned.bytes_per_lane == 4);
    CHECK(unaligned.transactions > unaligned.least);
    // The reads of a row's elements along K are merged as far as the loop is unrolled.
    CHECK(tiled(wide, problem_of(512, 512, 512), "read tile of A").bytes_per_lane == 16);

    // One row of 32 elements a warp: 4 sectors at a multiple of 8, else 5.
    const char* const rows =
        "TILE_WIDTH=32,RESULTS_M=1,RESULTS_N=1,UNROLL=2,A_TRANSPOSED=0,PADDING=0,VECTOR_WIDTH=1,"
        "PREFETCH=0";
    CHECK(tiled(rows, problem_of(512, 512, 512), "load B").transactions == 4);
    CHECK(tiled(rows, problem_of(512, 513, 512), "load B").transactions == 4.875);
    CHECK(tiled(rows, problem_of(512, 513, 512), "store C").transactions == 4.875);
    CHECK(tiled(rows, problem_of(512, 512, 512), "read tile of A").bytes_per_lane == 8);
  }

  TEST_CASE("gemm_tiled: of a matrix smaller than a tile, what it has") {
    const char* const configuration =
        "TILE_WIDTH=16,RESULTS_M=4,RESULTS_N=4,UNROLL=16,A_TRANSPOSED=0,PADDING=0,VECTOR_WIDTH=4,"
        "PREFETCH=1";
    for (const char* layout : kLayouts) {
      CAPTURE(layout);
      // A warp stores two rows of 7 elements: bytes 0 to 55, the next one bytes 56 to 111.
      const AccessSummary store = tiled(configuration, problem_of(4, 7, 3, layout), "store C");
      CHECK(store.transactions == (2 + 3) / 2.0);
      CHECK(store.least == 2);
      CHECK(tiled(configuration, problem_of(4, 7, 3, layout), "load A").bytes_per_lane == 4);
    }
  }

  TEST_CASE("gemm_simt: no bank conflicts where copies transpose and where fragments are read") {
    for (const char* layout : kLayouts) {
      const auto all =
          figures("gemm_simt",
                  "RESULTS_M=8,RESULTS_N=8,LANES_M=4,WARPS_M=2,WARPS_N=2,SLICE_K=1,BLOCK_K=16,"
                  "SHARED_K_MAJOR=0,"
                  "UNROLL=16,STAGES=3,DOUBLE_BUFFER=1,MIN_BLOCKS=3,SPLIT_K=1,CLUSTER=1,ORDER=0,"
                  "REGISTER_LEVEL=5,RASTER=8,STAGE_EPILOGUE=0",
                  problem_of(512, 512, 512, layout));
      CHECK(all.size() == 7);
      for (const AccessSummary& access : all) {
        CAPTURE(access.name);
        CAPTURE(layout);
        if (access.space == MemorySpace::shared) CHECK(access.transactions == access.least);
      }
    }
  }

  TEST_CASE("gemm_simt: lanes that exchange results store rows side by side") {
    const auto store_c = [](const std::string& exchange) {
      return figures("gemm_simt",
                     "RESULTS_M=8,RESULTS_N=8,LANES_M=8,WARPS_M=1,WARPS_N=2,SLICE_K=2,BLOCK_K=16,"
                     "SHARED_K_MAJOR=0,UNROLL=8,STAGES=3,DOUBLE_BUFFER=1,MIN_BLOCKS=3,SPLIT_K=1,"
                     "CLUSTER=1,"
                     "ORDER=0,REGISTER_LEVEL=5,RASTER=8,STAGE_EPILOGUE=" +
                         exchange,
                     problem_of(1000, 999, 500))
          .back();
    };
    CHECK(store_c("1").name == "store C");
    CHECK(store_c("1").bytes_per_lane == 4);
    CHECK(store_c("1").transactions < store_c("0").transactions);
  }

  TEST_CASE("gemm_skinny: the large operand in whole sectors, the few lines without conflicts") {
    for (const char* layout : kLayouts) {
      const auto all = figures(
          "gemm_skinny",
          "FEW_SIDE=0,FEW=1,LINES=4,LANES_K=4,WARPS=1,SLICE_K=8,UNROLL=8,SPLIT_K=1,L2_PERSIST=0",
          problem_of(1, 4096, 4096, layout));
      CHECK(all.size() == 5);
      for (const AccessSummary& access : all) {
        CAPTURE(layout);
        CAPTURE(access.name);
        CHECK(access.transactions == access.least);
      }
    }
  }

  TEST_CASE("gemm_tma: the CPU device cannot run it") {
    const KernelTemplate& kernel = *built_in_kernels().find("gemm_tma");
    const GemmProblem problem = problem_of(1024, 1024, 1024);
    CHECK_THROWS_AS(access_figures(kernel, kernel.default_configuration(problem), problem), Error);
  }
}

}  // namespace
}  // namespace autotune
