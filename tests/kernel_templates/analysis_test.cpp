// The resource arithmetic against the figures of the source documents.
#include "kernel_templates/analysis.hpp"

#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "autotune/problem.hpp"

#include "kernel_templates/kernel_set.hpp"

namespace autotune {
namespace {

Configuration plain(std::int64_t tile_width, std::int64_t results_m, std::int64_t results_n) {
  const KernelTemplate& kernel = *built_in_kernels().find("gemm_tiled");
  const GemmProblem problem{.m = 64, .n = 64, .k = 64};
  Configuration configuration = kernel.default_configuration(problem);
  for (const auto& entry : configuration.entries()) {
    if (entry.first == "TILE_WIDTH") configuration.set("TILE_WIDTH", tile_width);
    if (entry.first == "RESULTS_M") configuration.set("RESULTS_M", results_m);
    if (entry.first == "RESULTS_N") configuration.set("RESULTS_N", results_n);
    if (entry.first == "A_TRANSPOSED" || entry.first == "PADDING")
      configuration.set(entry.first, 0);
    if (entry.first == "VECTOR_WIDTH") configuration.set(entry.first, 1);
  }
  return configuration;
}

Analysis analysis_of(const Configuration& configuration, const SmLimits& sm) {
  return analyze(*built_in_kernels().find("gemm_tiled"), configuration, sm, std::nullopt, nullptr,
                 0);
}

// The documents' GPU: 16 KiB an SM, nothing reserved, 1,536 threads where they say so.
SmLimits documents_sm() {
  SmLimits sm = *sm_limits("sm_90");
  sm.shared_per_sm = 16384;
  sm.shared_reserved_per_block = 0;
  return sm;
}

TEST_SUITE("analyze") {
  TEST_CASE("one result with tiles of 16") {
    const Analysis a = analysis_of(plain(16, 1, 1), documents_sm());
    CHECK(a.threads == 256);
    CHECK(a.loads_per_phase == 512);
    CHECK(a.operations_per_phase == 8192);
    CHECK(a.operations_per_load == 16);
    CHECK(a.shared_bytes == 2048);
    CHECK(a.occupancy.blocks_per_sm == 8);
    CHECK(a.pending_loads == 4096);
  }

  TEST_CASE("a template without a tile shape has no figures of a phase") {
    KernelTemplate kernel = *built_in_kernels().find("gemm_tiled");
    kernel.tile_shape = {};
    const Analysis a = analyze(kernel, plain(16, 1, 1), documents_sm(), std::nullopt, nullptr, 0);
    CHECK(a.threads == 256);
    CHECK_FALSE(a.loads_per_phase);
    CHECK_FALSE(a.operations_per_phase);
    CHECK_FALSE(a.operations_per_load);
    CHECK_FALSE(a.pending_loads);
    CHECK(a.shared_bytes == 2048);
    CHECK(a.occupancy.blocks_per_sm == 8);
  }

  TEST_CASE("one result with tiles of 32") {
    SmLimits sm = documents_sm();
    const Analysis a = analysis_of(plain(32, 1, 1), sm);
    CHECK(a.threads == 1024);
    CHECK(a.operations_per_load == 32);
    CHECK(a.shared_bytes == 8192);
    CHECK(a.occupancy.blocks_per_sm == 2);
    sm.threads_per_sm = 1536;
    CHECK(analysis_of(plain(32, 1, 1), sm).occupancy.blocks_per_sm == 1);
  }

  TEST_CASE("operations a load are 2 T RM RN over RM + RN") {
    CHECK(analysis_of(plain(16, 2, 4), documents_sm()).operations_per_load ==
          doctest::Approx(2.0 * 16 * 8 / 6));
  }

  TEST_CASE("waves of blocks") {
    const KernelTemplate& kernel = *built_in_kernels().find("gemm_tiled");
    const Problem problem = GemmProblem{.m = 2048, .n = 2048, .k = 2048};
    const Analysis a = analyze(kernel, plain(16, 4, 4), *sm_limits("sm_90"), 128, &problem, 132);
    CHECK(a.blocks == 1024);
    CHECK(a.occupancy.by_registers == 2);
    CHECK(*a.waves == doctest::Approx(1024.0 / 264));
    CHECK(*a.wave_efficiency == doctest::Approx(1024.0 / 264 / 4));
  }

  TEST_CASE("roofline") {
    const Problem cube = GemmProblem{.m = 1000, .n = 1000, .k = 1000};
    const auto bound =
        roofline(*built_in_kernels().find("gemm_tiled"), cube, "sm_120", {50000, 4000});
    REQUIRE(bound);
    CHECK(bound->compute_us == doctest::Approx(40));
    CHECK(bound->memory_us == doctest::Approx(3));
    CHECK(bound->bound_us() == doctest::Approx(40));
  }

  TEST_CASE("roofline of tensor cores") {
    const auto bound_of = [](const char* kernel, Math math, const char* architecture) {
      const Problem cube = GemmProblem{.m = 1000, .n = 1000, .k = 1000, .math = math};
      return roofline(*built_in_kernels().find(kernel), cube, architecture, {50000, 4000});
    };
    // Each of the planes of A and B is written and read: 4 MB for the two operands.
    const auto fp16x3 = bound_of("gemm_fp16x3", Math::emulated, "sm_90");
    REQUIRE(fp16x3);
    CHECK(fp16x3->compute_us == doctest::Approx(3 * 40 / 16.0));
    CHECK(fp16x3->memory_us == doctest::Approx(3 + 4));
    const auto fp16x1 = bound_of("gemm_fp16x1", Math::tf32, "sm_90");
    REQUIRE(fp16x1);
    CHECK(fp16x1->compute_us == doctest::Approx(40 / 16.0));
    CHECK(fp16x1->memory_us == doctest::Approx(3 + 2));
    CHECK(fp16x1->bound_by() == std::string("memory"));
    for (const auto& [math, products] : {std::pair(Math::emulated, 3), std::pair(Math::tf32, 1)}) {
      for (const auto& [architecture, speed] :
           {std::pair("sm_80", 8), std::pair("sm_86", 2), std::pair("sm_90", 8)}) {
        const auto tf32 = bound_of("gemm_tf32", math, architecture);
        REQUIRE(tf32);
        CHECK(tf32->compute_us == doctest::Approx(40.0 * products / speed));
        CHECK(tf32->memory_us == doctest::Approx(3));
      }
    }
    CHECK_FALSE(bound_of("gemm_tf32", Math::tf32, "sm_120"));
  }

  TEST_CASE("every template that computes nothing strictly says what its tensor cores do") {
    for (const KernelTemplate& kernel : built_in_kernels().templates()) {
      CAPTURE(kernel.name);
      GemmProblem problem{.m = 8, .n = 512, .k = 512};
      const bool is_strict = computes(kernel, problem);
      // Products of 16-bit operands are exact in FP32, with tensor cores or without.
      problem.types = {ElementType::bf16, ElementType::bf16, ElementType::bf16};
      if (!is_strict && computes(kernel, problem)) continue;
      CHECK(is_strict == !kernel.tensor_products);
    }
  }
}

}  // namespace
}  // namespace autotune
