// The search space and the launch geometry of gemm_tf32_wgmma.
#include <set>

#include <doctest/doctest.h>

#include "autotune/problem.hpp"

#include "core/occupancy.hpp"
#include "kernel_templates/kernel_set.hpp"

namespace autotune {
namespace {

const KernelTemplate& gemm_tf32_wgmma() {
  return *built_in_kernels().find("gemm_tf32_wgmma");
}

GemmProblem problem(std::int64_t m, std::int64_t n, std::int64_t k, Math math = Math::emulated) {
  return {.m = m, .n = n, .k = k, .math = math};
}

Configuration changed(const std::string& text) {
  Configuration result = gemm_tf32_wgmma().default_configuration(problem(128, 4096, 4096));
  const Configuration changes = Configuration::parse(text);
  for (const auto& [name, value] : changes.entries()) result.set(name, value);
  return result;
}

LaunchGeometry geometry(const std::string& text, const GemmProblem& shape) {
  return gemm_tf32_wgmma().geometry(changed(text), shape);
}

TEST_SUITE("gemm_tf32_wgmma space") {
  TEST_CASE("a few kernels make all configurations") {
    const Enumeration all = gemm_tf32_wgmma().space.enumerate();
    CHECK(all.configurations.size() == 56);
    std::set<std::string> kernels;
    for (const Configuration& configuration : all.configurations) {
      kernels.insert(to_string(compiled_as(gemm_tf32_wgmma(), configuration)));
    }
    CHECK(kernels.size() == 32);
  }

  TEST_CASE("it computes single products of TF32, and emulated ones with enough terms") {
    CHECK(computes(gemm_tf32_wgmma(), problem(8, 8, 1, Math::tf32)));
    CHECK(computes(gemm_tf32_wgmma(), problem(8, 8, 128)));
    CHECK_FALSE(computes(gemm_tf32_wgmma(), problem(8, 8, 127)));
    CHECK_FALSE(computes(gemm_tf32_wgmma(), problem(8, 8, 128, Math::strict)));
    GemmProblem batch = problem(64, 64, 256);
    batch.batch = 2;
    CHECK_FALSE(computes(gemm_tf32_wgmma(), batch));
  }

  TEST_CASE("the default is valid for any shape, with the longer side as the left operand") {
    for (const std::int64_t m : {1, 300, 1500, 2147483647}) {
      for (const std::int64_t n : {4, 1600, 2147483644}) {
        const Configuration configuration =
            gemm_tf32_wgmma().default_configuration(problem(m, n, 1000));
        CHECK_NOTHROW(static_cast<void>(gemm_tf32_wgmma().space.validated(configuration)));
        CHECK(configuration.at("SWAP_AB") == (n > m ? 1 : 0));
      }
    }
  }

  TEST_CASE("the default splits K of few tiles among the blocks of a cluster") {
    const auto cluster_k = [](std::int64_t m, std::int64_t n, std::int64_t k) {
      return gemm_tf32_wgmma().default_configuration(problem(m, n, k)).at("CLUSTER_K");
    };
    CHECK(cluster_k(128, 2048, 4096) == 8);  // 16 tiles
    CHECK(cluster_k(128, 8192, 4096) == 2);
    CHECK(cluster_k(128, 8192, 128) == 1);
    CHECK(cluster_k(4096, 4096, 4096) == 1);
  }

  TEST_CASE("tiles lie along the other sides where the product is transposed") {
    const GemmProblem shape = problem(1000, 300, 512);
    CHECK(geometry("SWAP_AB=0,BLOCK_N=64,WARPGROUPS=2,CLUSTER_K=1,SPLIT_K=1", shape).blocks() ==
          8 * 5);
    CHECK(geometry("SWAP_AB=1,BLOCK_N=64,WARPGROUPS=2,CLUSTER_K=1,SPLIT_K=1", shape).blocks() ==
          16 * 3);
    const LaunchGeometry split = geometry("SWAP_AB=1,BLOCK_N=64,CLUSTER_K=4", shape);
    CHECK(split.blocks() == 16 * 3 * 4);
    CHECK(split.blocks_per_cluster == 4);
    CHECK(split.threads() == 384);
  }

  TEST_CASE("two split k-tiles, as many copied ones as fit, and magnitudes are in shared memory") {
    // Lines of 36 elements along K, of 136 along the 128 rows or columns.
    const std::string square = "SWAP_AB=0,BLOCK_N=128,WARPGROUPS=2";
    const std::int64_t exchange = 4 * (3 * 256 + 128 + 128);
    const std::int64_t split = 128 * 128;
    CHECK(geometry(square, problem(512, 512, 512)).dynamic_shared_bytes ==
          2 * 2 * split + 4 * 4 * (128 * 36 + 32 * 136) + exchange);
    CHECK(geometry(square, problem(512, 512, 512, Math::tf32)).dynamic_shared_bytes ==
          2 * split + 5 * 4 * (128 * 36 + 32 * 136) + exchange);
    GemmProblem transposed = problem(512, 512, 512);
    transposed.op_a = transposed.op_b = Transpose::transposed;
    const std::int64_t small = 4 * (3 * 128 + 64 + 64);
    CHECK(geometry("SWAP_AB=0,BLOCK_N=64,WARPGROUPS=1", transposed).dynamic_shared_bytes ==
          2 * 2 * 64 * 128 + 8 * 4 * (32 * 72 + 64 * 36) + small);
    for (const Configuration& configuration : gemm_tf32_wgmma().space.enumerate().configurations) {
      CHECK(gemm_tf32_wgmma().geometry(configuration, transposed).dynamic_shared_bytes <=
            226 * 1024);
    }
  }

  TEST_CASE("tiles as wide as a narrow product are predicted to win") {
    const SmLimits sm = *sm_limits("sm_90");
    const auto cycles = [&](const std::string& text) {
      return predicted_cycles(gemm_tf32_wgmma(), changed(text), problem(128, 8192, 4096), sm, 132);
    };
    CHECK(cycles("SWAP_AB=1,BLOCK_N=128,CLUSTER_K=2") < cycles("SWAP_AB=1,BLOCK_N=64,CLUSTER_K=1"));
    CHECK(cycles("SWAP_AB=1,CLUSTER_K=2") < cycles("SWAP_AB=1,CLUSTER_K=1"));
  }
}

}  // namespace
}  // namespace autotune
