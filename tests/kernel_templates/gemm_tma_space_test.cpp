// The search space and the launch geometry of gemm_tma.
#include <set>

#include <doctest/doctest.h>

#include "autotune/problem.hpp"

#include "kernel_templates/kernel_set.hpp"
#include "operation/gemm/gemm.hpp"

namespace autotune {
namespace {

const KernelTemplate& gemm_tma() {
  return *built_in_kernels().find("gemm_tma");
}

GemmProblem problem(std::int64_t m, std::int64_t n, std::int64_t k, const std::string& layout) {
  GemmProblem result{.m = m, .n = n, .k = k};
  set_layout(result, layout);
  return result;
}

// The default of large matrices with some values changed.
Configuration changed(const std::string& text) {
  Configuration result =
      gemm_tma().default_configuration(GemmProblem{.m = 8192, .n = 8192, .k = 8192});
  const Configuration changes = Configuration::parse(text);
  for (const auto& [name, value] : changes.entries()) result.set(name, value);
  return result;
}

TEST_SUITE("gemm_tma space") {
  TEST_CASE("thousands of configurations are valid, each parameter with all its values") {
    const ConfigSpace& space = gemm_tma().space;
    const Enumeration all = space.enumerate();
    CHECK(all.configurations.size() > 5'000);
    CHECK(all.configurations.size() < 50'000);
    std::set<Configuration::Entry> used;
    for (const Configuration& configuration : all.configurations) {
      used.insert(configuration.entries().begin(), configuration.entries().end());
    }
    for (const TuningParameter& parameter : space.parameters()) {
      for (const std::int64_t value : parameter.values) {
        CAPTURE(parameter.name);
        CAPTURE(value);
        CHECK(used.contains({parameter.name, value}));
      }
    }
  }

  TEST_CASE("the default is valid for any shape") {
    for (const std::int64_t m : {1, 4, 1500, 2147483647}) {
      for (const std::int64_t n : {4, 1600, 2147483644}) {
        const GemmProblem shape{.m = m, .n = n, .k = 1000};
        CAPTURE(to_string(shape));
        CHECK_NOTHROW(
            static_cast<void>(gemm_tma().space.validated(gemm_tma().default_configuration(shape))));
      }
    }
  }

  TEST_CASE("boxes are a phase of the tile, of the operands that are not along K") {
    const Configuration one = changed("BLOCK_K=32");  // tiles of 128 x 256
    using Box = std::array<std::int64_t, 2>;
    const LaunchGeometry plain = gemm_tma().geometry(one, problem(512, 512, 512, "NN"));
    CHECK_FALSE(plain.needs_map(kGemmA));
    CHECK(plain.tensor_boxes[kGemmB] == Box{32, 256});
    const LaunchGeometry both = gemm_tma().geometry(one, problem(512, 512, 512, "TN"));
    CHECK(both.tensor_boxes[kGemmA] == Box{32, 128});
    CHECK(both.tensor_boxes[kGemmB] == Box{32, 256});
    const LaunchGeometry turned = gemm_tma().geometry(one, problem(512, 512, 512, "TT"));
    CHECK(turned.tensor_boxes[kGemmA] == Box{32, 128});
    CHECK_FALSE(turned.needs_map(kGemmB));
  }

  TEST_CASE("operands whose rows TMA cannot copy have no boxes") {
    const Configuration one = changed("BLOCK_K=32");
    for (const auto& [m, n, k] : {std::tuple(512, 513, 512), std::tuple(512, 512, 513)}) {
      const LaunchGeometry geometry = gemm_tma().geometry(one, problem(m, n, k, "NN"));
      CHECK_FALSE(geometry.needs_map(kGemmB));
    }
    CHECK(gemm_tma().geometry(one, problem(513, 512, 512, "NN")).needs_map(kGemmB));
  }

  TEST_CASE("shared memory has the padded phases and two barriers of each") {
    const LaunchGeometry geometry =
        gemm_tma().geometry(changed("STAGES=3,BLOCK_K=32"), problem(129, 256, 999, "NN"));
    CHECK(geometry.blocks() == 2);
    CHECK(geometry.threads() == 256 + 128);  // those that copy
    CHECK(geometry.workspace_bytes() == 0);
    CHECK(geometry.dynamic_shared_bytes == 3 * 32 * (128 + 4 + 256) * 4 + 3 * 2 * 8);
  }

  TEST_CASE("a split gives each tile blocks as long as it has phases for them") {
    const Configuration split =
        changed("SPLIT_K=8,RASTER=1,WARPS_M=1,WARPS_N=2,SLICE_K=4,BLOCK_K=64,STAGES=3");
    CHECK(gemm_tma().geometry(split, problem(64, 128, 8 * 64, "NN")).blocks() == 8);
    CHECK(gemm_tma().geometry(split, problem(64, 128, 100, "NN")).blocks() == 2);
    CHECK(gemm_tma().geometry(split, problem(64, 128, 64, "NN")).workspace_bytes() == 0);
  }

  TEST_CASE("blocks share tiles evenly as long as 32 bits count what they share") {
    const Configuration evenly = changed("SPLIT_K=0,BLOCK_K=32,STAGES=3");
    const auto shares = [&](std::int64_t k) {
      const LaunchGeometry geometry = gemm_tma().geometry(evenly, problem(64, 64, k, "NN"));
      CHECK((geometry.resident_blocks_per_sm > 0) == (geometry.workspace_bytes() > 0));
      return geometry.workspace_bytes() > 0;
    };
    CHECK_FALSE(shares(32));
    CHECK(shares(33));
    CHECK(shares(32 << 18));
    CHECK_FALSE(shares((32 << 18) + 1));
  }

  TEST_CASE("a cluster's blocks are whole clusters, with memory for what they give each other") {
    const std::string tile =  // of 32 x 64, eight slices
        "RESULTS_N=8,LANES_M=4,WARPS_M=1,WARPS_N=1,SLICE_K=8,BLOCK_K=128,STAGES=3,RASTER=1,";
    const Configuration one = changed(tile + "SPLIT_K=33,CLUSTER=1");
    const Configuration two = changed(tile + "SPLIT_K=33,CLUSTER=2");
    const auto blocks = [](const Configuration& c, std::int64_t k) {
      return gemm_tma().geometry(c, problem(64, 64, k, "NN")).blocks();
    };
    CHECK(blocks(one, 65536) == 2 * 33);
    CHECK(blocks(two, 65536) == 2 * 32);
    CHECK(blocks(two, 3 * 128) == 2 * 2);
    CHECK(blocks(two, 1) == 2 * 2);  // the second of each has nothing to do
    const auto shared = [](const Configuration& c) {
      return gemm_tma().geometry(c, problem(64, 64, 65536, "NN")).dynamic_shared_bytes;
    };
    // Half of the 32 x 64 results go to the other block; a barrier with its padding has 16 bytes.
    CHECK(shared(two) - shared(one) == 32 * 64 / 2 * 4 + 16);
  }
}

}  // namespace
}  // namespace autotune
