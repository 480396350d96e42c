// The search space and the launch geometry of gemm_simt.
#include <limits>
#include <set>

#include <doctest/doctest.h>

#include "autotune/problem.hpp"

#include "kernel_templates/kernel_set.hpp"

namespace autotune {
namespace {

const KernelTemplate& gemm_simt() {
  return *built_in_kernels().find("gemm_simt");
}

// The default of large matrices with some values changed, whether or not the space has it.
Configuration changed(const std::string& text) {
  Configuration result =
      gemm_simt().default_configuration(GemmProblem{.m = 8192, .n = 8192, .k = 8192});
  const Configuration changes = Configuration::parse(text);
  for (const auto& [name, value] : changes.entries()) result.set(name, value);
  return result;
}

TEST_SUITE("gemm_simt space") {
  TEST_CASE("thousands of configurations are valid, each parameter with all its values") {
    const ConfigSpace& space = gemm_simt().space;
    const Enumeration all = space.enumerate();
    CHECK(all.configurations.size() > 5'000);
    CHECK(all.configurations.size() < 100'000);
    std::set<Configuration::Entry> used;
    for (const Configuration& configuration : all.configurations) {
      used.insert(configuration.entries().begin(), configuration.entries().end());
    }
    for (const TuningParameter& parameter : space.parameters()) {
      CAPTURE(parameter.name);
      for (const std::int64_t value : parameter.values) {
        CAPTURE(value);
        CHECK(used.contains({parameter.name, value}));
      }
    }
    std::size_t counted = all.configurations.size();
    for (const auto& [name, count] : all.rejected) counted += count;
    CHECK(counted == all.raw_count);
  }

  TEST_CASE("shared memory has a vector for each thread that exchanges results") {
    constexpr std::int64_t kVectorBytes = 16;
    GemmProblem problem{.m = 1, .n = 1, .k = 1};
    set_layout(problem, "TN");  // without padding
    const Problem plain = problem;
    for (const Configuration& c : gemm_simt().space.enumerate().configurations) {
      if (c.at("STAGE_EPILOGUE") == 0) continue;
      const LaunchGeometry geometry = gemm_simt().geometry(c, plain);
      REQUIRE(geometry.dynamic_shared_bytes >= kVectorBytes * geometry.threads());
    }
  }

  TEST_CASE("the default is valid for any shape") {
    const std::vector<std::int64_t> lengths = {1, 2, 3, 16, 33, 512, 700, 2048, 8192, 2147483647};
    for (const std::int64_t m : lengths) {
      for (const std::int64_t n : lengths) {
        for (const std::int64_t k : {1, 64, 4096, 2147483647}) {
          const GemmProblem problem{.m = m, .n = n, .k = k};
          CAPTURE(to_string(problem));
          CHECK_NOTHROW(static_cast<void>(
              gemm_simt().space.validated(gemm_simt().default_configuration(problem))));
        }
      }
    }
  }

  TEST_CASE("without splits there is one block a tile and no workspace") {
    const Configuration one = changed("SPLIT_K=1");  // tiles of 64 x 128
    const LaunchGeometry geometry =
        gemm_simt().geometry(one, GemmProblem{.m = 65, .n = 128, .k = 999});
    CHECK(geometry.blocks() == 2);
    CHECK(geometry.threads() == 128);
    CHECK(geometry.workspace_bytes() == 0);
    // Three stages of 16 k; the tile of A is transposed and padded by 4.
    CHECK(geometry.dynamic_shared_bytes == 3 * 16 * (64 + 4 + 128) * 4);
    GemmProblem transposed{.m = 65, .n = 128, .k = 999};
    set_layout(transposed, "TT");
    CHECK(gemm_simt().geometry(one, transposed).dynamic_shared_bytes ==
          3 * 16 * (64 + 128 + 4) * 4);
  }

  TEST_CASE("a split gives each tile blocks as long as it has phases for them") {
    const Configuration split = changed("SPLIT_K=3,RASTER=1");
    const GemmProblem deep{.m = 128, .n = 128, .k = 160};
    CHECK(gemm_simt().geometry(split, deep).blocks() == 6);
    CHECK(gemm_simt().geometry(split, deep).workspace_bytes() ==
          4 * kWorkspaceCounters + 6 * 2 * 64 * 128 * 4);
    const GemmProblem shallow{.m = 128, .n = 128, .k = 20};  // two phases
    CHECK(gemm_simt().geometry(split, shallow).blocks() == 4);
    const GemmProblem flat{.m = 128, .n = 128, .k = 16};
    CHECK(gemm_simt().geometry(split, flat).blocks() == 2);
    CHECK(gemm_simt().geometry(split, flat).workspace_bytes() == 0);
    // As many blocks as may share, with 64 KiB each, and one more row of tiles.
    const GemmProblem largest{.m = 64 * 35, .n = 128 * 39, .k = 64};
    CHECK(gemm_simt().geometry(split, largest).blocks() == 3 * 35 * 39);
    const GemmProblem larger{.m = 64 * 36, .n = 128 * 39, .k = 64};
    CHECK(gemm_simt().geometry(split, larger).blocks() == 36 * 39);
    CHECK(gemm_simt().geometry(split, larger).workspace_bytes() == 0);
  }

  TEST_CASE("even shares take the blocks that a device runs at once") {
    const Configuration even = changed("SPLIT_K=0");
    const GemmProblem problem{.m = 1600, .n = 1600, .k = 1600};
    CHECK(gemm_simt().geometry(even, problem).on_device(132).blocks() == 3 * 132);
    constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();
    for (const std::int64_t k : {std::int64_t{1} << 21, kLargest}) {
      const GemmProblem largest{.m = kLargest, .n = kLargest, .k = k};
      CHECK(gemm_simt().geometry(even, largest).blocks() > 1 << 30);
    }
    const GemmProblem largest{.m = kLargest, .n = kLargest, .k = 1 << 21};
    CHECK(gemm_simt().geometry(even, largest).on_device(132).blocks() == 3 * 132);
    const GemmProblem tiny{.m = 1, .n = 1, .k = 40};  // three phases
    CHECK(gemm_simt().geometry(even, tiny).on_device(132).blocks() == 3);
  }

  TEST_CASE("the CPU device is not offered what shares results between blocks") {
    DeviceInfo host;
    host.cpu_model = "some processor";
    host.sm.threads_per_block = 1024;
    host.shared_per_block = 48 * 1024;
    host.sm.shared_per_block = 227 * 1024;
    const auto offered =
        gemm_simt().space.enumerate(device_constraints(gemm_simt(), host)).configurations;
    CHECK(offered.size() > 1'000);
    for (const Configuration& configuration : offered) {
      REQUIRE(configuration.at("SPLIT_K") == 1);
    }
  }
}

}  // namespace
}  // namespace autotune
