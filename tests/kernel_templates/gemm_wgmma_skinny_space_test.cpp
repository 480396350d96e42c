// The search space and the launch geometry of gemm_wgmma_skinny.
#include <algorithm>

#include <doctest/doctest.h>

#include "autotune/problem.hpp"

#include "core/occupancy.hpp"
#include "kernel_templates/kernel_set.hpp"
#include "operation/gemm/gemm.hpp"

namespace autotune {
namespace {

const KernelTemplate& skinny() {
  return *built_in_kernels().find("gemm_wgmma_skinny");
}

GemmProblem problem(std::int64_t m, std::int64_t n, std::int64_t k, const char* types = "bf16") {
  return {.m = m, .n = n, .k = k, .op_b = Transpose::transposed, .types = types_from_string(types)};
}

// A configuration in one word: the side, few lines x lines, blocks of a cluster, blocks of an SM.
std::string text(const Configuration& c) {
  const auto value = [&](const char* name) { return std::to_string(c.at(name)); };
  return (c.at("FEW_SIDE") == 0 ? "rows " : "columns ") + value("FEW") + "x" + value("LINES") +
         "/" + value("CLUSTER_K") + "/" + value("MIN_BLOCKS");
}
std::string default_text(const GemmProblem& shape) {
  return text(skinny().default_configuration(shape));
}

Configuration made(std::int64_t side, std::int64_t few, std::int64_t lines, std::int64_t cluster_k,
                   std::int64_t blocks) {
  return Configuration({{"FEW_SIDE", side},
                        {"FEW", few},
                        {"LINES", lines},
                        {"CLUSTER_K", cluster_k},
                        {"MIN_BLOCKS", blocks}});
}

TEST_SUITE("gemm_wgmma_skinny space") {
  TEST_CASE("few configurations are made, and fewer are for one product") {
    const Enumeration all = skinny().space.enumerate();
    CHECK(all.configurations.size() == 128);
    const auto fitting = [&](const GemmProblem& shape) {
      return std::count_if(all.configurations.begin(), all.configurations.end(),
                           [&](const Configuration& c) { return skinny().fits(c, shape); });
    };
    CHECK(fitting(problem(16, 4096, 4096)) == 16);
    CHECK(fitting(problem(16, 4096, 256)) == 8);  // K has two parts
    CHECK(fitting(problem(128, 28672, 4096)) == 8);
    CHECK(fitting(problem(64, 256, 4096)) == 12 + 12 + 16);  // few tiles: also of fewer lines
    GemmProblem few_mn_major = problem(16, 4096, 4096);
    few_mn_major.op_a = Transpose::transposed;
    CHECK(fitting(few_mn_major) == 12);  // whole boxes leave no room for three buffers
  }

  TEST_CASE("it computes 16-bit operands with few rows or columns, in rows of whole vectors") {
    CHECK(computes(skinny(), problem(8, 4096, 4096)));
    CHECK(computes(skinny(), problem(4096, 128, 4096, "f16")));
    CHECK(computes(skinny(), problem(5, 4096, 4096, "bf16-f32")));
    CHECK_FALSE(computes(skinny(), problem(8, 4096, 4096, "f32")));
    CHECK_FALSE(computes(skinny(), problem(129, 136, 4096)));
    CHECK_FALSE(computes(skinny(), problem(8, 4096, 4097)));
  }

  TEST_CASE("it is the first choice of products that have more lines than gemm_skinny's") {
    CHECK_FALSE(skinny().first_choice(problem(4, 4096, 4096)));
    CHECK(skinny().first_choice(problem(5, 4096, 4096)));
    CHECK(skinny().first_choice(problem(4096, 64, 4096)));
    CHECK_FALSE(skinny().first_choice(problem(65, 4096, 4096)));
  }

  TEST_CASE("the default fits any product") {
    for (const std::int64_t few : {1, 17, 64, 128}) {
      for (const std::int64_t lines : {8, 1500, 14336, 262144}) {
        for (const std::int64_t k : {8, 1000, 16384}) {
          for (const bool has_few_rows : {false, true}) {
            GemmProblem shape = problem(has_few_rows ? few : lines, has_few_rows ? lines : few, k);
            for (const char* layout : {"NN", "NT", "TN", "TT"}) {
              set_layout(shape, layout);
              CAPTURE(to_string(shape));
              const Configuration configuration = skinny().default_configuration(shape);
              CHECK_NOTHROW(static_cast<void>(skinny().space.validated(configuration)));
              CHECK(skinny().fits(configuration, shape));
            }
          }
        }
      }
    }
  }

  TEST_CASE("in the default as many blocks split K as keep a device busy") {
    CHECK(default_text(problem(16, 256, 7168)) == "rows 16x64/8/2");
    CHECK(default_text(problem(16, 1536, 7168)) == "rows 16x64/4/2");
    CHECK(default_text(problem(64, 4096, 4096)) == "rows 64x64/2/1");
    CHECK(default_text(problem(64, 14336, 4096)) == "rows 64x64/1/2");
    CHECK(default_text(problem(14336, 100, 4096)) == "columns 128x128/1/1");
    CHECK(default_text(problem(64, 256, 7168)) == "rows 16x64/8/2");
    CHECK(default_text(problem(16, 256, 128)) == "rows 16x64/1/2");
    GemmProblem batch = problem(8, 256, 7168);
    batch.batch = 12;
    CHECK(default_text(batch) == "rows 8x64/2/2");
  }

  TEST_CASE("a cluster has a tile, and there are tiles of all lines and products") {
    GemmProblem shape = problem(1000, 30, 512);
    const LaunchGeometry geometry = skinny().geometry(made(1, 8, 128, 4, 1), shape);
    CHECK(geometry.grid[0] == 8 * 4 * 4);
    CHECK(geometry.blocks_per_cluster == 4);
    CHECK(geometry.threads() == 288);
    CHECK(geometry.workspace_bytes() == 0);
    shape.batch = 3;
    CHECK(skinny().geometry(made(0, 128, 64, 1, 1), shape).grid[0] == 8 * 3);
  }

  TEST_CASE("copies are boxes of 128 bytes in each layout") {
    using Box = LaunchGeometry::Box;
    GemmProblem shape = problem(16, 512, 512);
    const LaunchGeometry k_major = skinny().geometry(made(0, 16, 128, 1, 1), shape);
    CHECK(k_major.map_swizzle == 128);
    CHECK(k_major.tensor_boxes[kGemmA] == Box{16, 64});
    CHECK(k_major.tensor_boxes[kGemmB] == Box{128, 64});
    set_layout(shape, "TN");
    const LaunchGeometry mn_major = skinny().geometry(made(0, 16, 128, 1, 1), shape);
    CHECK(mn_major.tensor_boxes[kGemmA] == Box{64, 64});
    CHECK(mn_major.tensor_boxes[kGemmB] == Box{64, 64});
    const LaunchGeometry columns = skinny().geometry(made(1, 32, 64, 1, 1), problem(512, 24, 512));
    CHECK(columns.tensor_boxes[kGemmA] == Box{64, 64});
    CHECK(columns.tensor_boxes[kGemmB] == Box{32, 64});
  }

  TEST_CASE("the buffers of all blocks of an SM fit its shared memory") {
    constexpr std::int64_t kOfSm = 228 * 1024, kReserved = 1024;
    for (const Configuration& configuration : skinny().space.enumerate().configurations) {
      CAPTURE(to_string(configuration));
      for (const char* layout : {"NN", "NT", "TN", "TT"}) {
        GemmProblem shape = problem(64, 64, 64);
        set_layout(shape, layout);
        const std::int64_t bytes = skinny().geometry(configuration, shape).dynamic_shared_bytes +
                                   skinny().shared_bytes(configuration) + kReserved;
        CHECK(configuration.at("MIN_BLOCKS") * bytes <= kOfSm);
      }
    }
    const auto bytes = [](const Configuration& configuration, const char* layout) {
      GemmProblem shape = problem(8, 512, 512);
      set_layout(shape, layout);
      return skinny().geometry(configuration, shape).dynamic_shared_bytes;
    };
    CHECK(bytes(made(0, 8, 64, 1, 1), "NT") == 12 * 256 * (64 + 8));
    CHECK(bytes(made(0, 8, 64, 1, 2), "NT") == 6 * 256 * (64 + 8));
    CHECK(bytes(made(0, 8, 64, 1, 2), "TT") == 3 * 256 * (64 + 64));
  }

  TEST_CASE(
      "parts of K are predicted to win where tiles are few, and to lose where they are many") {
    const SmLimits sm = *sm_limits("sm_90");
    const auto cycles = [&](std::int64_t cluster_k, const GemmProblem& shape) {
      return predicted_cycles(skinny(), made(0, 16, 64, cluster_k, 2), shape, sm, 132);
    };
    CHECK(cycles(8, problem(16, 256, 7168)) < cycles(2, problem(16, 256, 7168)));
    CHECK(cycles(4, problem(16, 1536, 7168)) < cycles(1, problem(16, 1536, 7168)));
    CHECK(cycles(1, problem(16, 14336, 4096)) < cycles(8, problem(16, 14336, 4096)));
    CHECK(cycles(1, problem(16, 7168, 768)) < cycles(4, problem(16, 7168, 768)));
    CHECK(cycles(8, problem(64, 256, 7168)) <
          predicted_cycles(skinny(), made(0, 64, 64, 8, 1), problem(64, 256, 7168), sm, 132));
  }
}

}  // namespace
}  // namespace autotune
