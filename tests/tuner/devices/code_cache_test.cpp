// Executions that count as the same.
#include "tuner/devices/code_cache.hpp"

#include <doctest/doctest.h>

#include "autotune/problem.hpp"

#include "kernel_templates/kernel_set.hpp"

namespace autotune {
namespace {

TEST_SUITE("CodeCache") {
  TEST_CASE("whatever an execution differs in makes another one") {
    const Execution execution{GemmProblem{.m = 64, .n = 48, .k = 32}, "gemm_tma", "code",
                              LaunchGeometry{.grid = {6, 1, 1}, .block = {128, 1, 1}}};
    const auto is_same = [&](auto change) {
      Execution changed = execution;
      change(changed);
      return changed == execution;
    };
    CHECK(is_same([](Execution&) {}));
    CHECK_FALSE(is_same([](Execution& e) { e.problem = GemmProblem{.m = 64, .n = 48, .k = 33}; }));
    CHECK_FALSE(is_same([](Execution& e) { e.template_name = "gemm_simt"; }));
    CHECK_FALSE(is_same([](Execution& e) { e.code = "other"; }));
    CHECK_FALSE(is_same([](Execution& e) { e.geometry.grid[0] = 7; }));
    CHECK_FALSE(is_same([](Execution& e) { e.geometry.raster = 8; }));
    CHECK_FALSE(is_same([](Execution& e) { e.geometry.preparation.threads = 256; }));
    CHECK_FALSE(is_same([](Execution& e) { e.geometry.tensor_boxes[1] = {8, 8}; }));
  }

  TEST_CASE("operands that are prepared by other threads make another execution") {
    for (const char* name : {"gemm_fp16x1", "gemm_fp16x3"}) {
      const KernelTemplate& kernel = *built_in_kernels().find(name);
      // As many blocks prepare the operands of the longer ones with 128 threads as with 256.
      for (const std::int64_t k : {1024, 3000, 8192}) {
        const Problem problem =
            GemmProblem{.m = 640,
                        .n = 640,
                        .k = k,
                        .math = kernel.name == "gemm_fp16x1" ? Math::tf32 : Math::emulated};
        Configuration configuration = kernel.default_configuration(problem);
        const auto with_threads = [&](std::int64_t threads) {
          configuration.set("PREPARE_THREADS", threads);
          return kernel.geometry(configuration, problem);
        };
        CodeCache cache;
        Trial trial{.problem = problem, .template_name = kernel.name};
        cache.keep(trial, "code", with_threads(128));
        CHECK(cache.reuse(trial, "code", with_threads(128)));
        CHECK_FALSE(cache.reuse(trial, "code", with_threads(256)));
      }
    }
  }
}

}  // namespace
}  // namespace autotune
