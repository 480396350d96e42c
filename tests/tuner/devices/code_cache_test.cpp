// Executions that count as the same.
#include "tuner/devices/code_cache.hpp"

#include <doctest/doctest.h>

#include "autotune/problem.hpp"

namespace autotune {
namespace {

TEST_SUITE("CodeCache") {
  TEST_CASE("whatever a launch differs in makes another execution") {
    const Problem problem = GemmProblem{.m = 64, .n = 48, .k = 32};
    const LaunchGeometry geometry{.grid = {6, 1, 1}, .block = {128, 1, 1}};
    const auto key = [&](auto change) {
      LaunchGeometry changed = geometry;
      change(changed);
      return execution_key(problem, "gemm_tma", "code", changed);
    };
    const std::string same = key([](LaunchGeometry&) {});
    CHECK(execution_key(problem, "gemm_tma", "code", geometry) == same);
    CHECK(execution_key(problem, "gemm_simt", "code", geometry) != same);
    CHECK(execution_key(problem, "gemm_tma", "other", geometry) != same);
    CHECK(execution_key(GemmProblem{.m = 64, .n = 48, .k = 33}, "gemm_tma", "code", geometry) !=
          same);
    CHECK(key([](LaunchGeometry& g) { g.grid[0] = 7; }) != same);
    CHECK(key([](LaunchGeometry& g) { g.block[0] = 256; }) != same);
    CHECK(key([](LaunchGeometry& g) { g.dynamic_shared_bytes = 4; }) != same);
    CHECK(key([](LaunchGeometry& g) { g.workspace_bytes_per_block = 4; }) != same);
    CHECK(key([](LaunchGeometry& g) { g.workspace_bytes_shared = 4; }) != same);
    CHECK(key([](LaunchGeometry& g) { g.preparation.blocks = 8; }) != same);
    CHECK(key([](LaunchGeometry& g) { g.resident_blocks_per_sm = 2; }) != same);
    CHECK(key([](LaunchGeometry& g) { g.raster = 8; }) != same);
    CHECK(key([](LaunchGeometry& g) { g.waits_for_launch_before = true; }) != same);
    CHECK(key([](LaunchGeometry& g) { g.tensor_boxes[0] = {8, 8}; }) != same);
    CHECK(key([](LaunchGeometry& g) { g.tensor_boxes[1] = {8, 8}; }) != same);
  }
}

}  // namespace
}  // namespace autotune
