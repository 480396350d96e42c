// The search space and the launch geometry of gemm_fp16x1.
#include <cmath>
#include <set>

#include <doctest/doctest.h>

#include "autotune/problem.hpp"

#include "core/occupancy.hpp"
#include "kernel_templates/kernel_set.hpp"

namespace autotune {
namespace {

const KernelTemplate& gemm_fp16x1() {
  return *built_in_kernels().find("gemm_fp16x1");
}

GemmProblem problem(std::int64_t m, std::int64_t n, std::int64_t k, Math math = Math::tf32) {
  return {.m = m, .n = n, .k = k, .math = math};
}

Configuration changed(const std::string& text) {
  Configuration result = gemm_fp16x1().default_configuration(problem(4096, 4096, 4096));
  const Configuration changes = Configuration::parse(text);
  for (const auto& [name, value] : changes.entries()) result.set(name, value);
  return result;
}

LaunchGeometry geometry(const std::string& text, const GemmProblem& shape) {
  return gemm_fp16x1().geometry(changed(text), shape);
}

TEST_SUITE("gemm_fp16x1 space") {
  TEST_CASE("a few kernels make all configurations") {
    const Enumeration all = gemm_fp16x1().space.enumerate();
    CHECK(all.configurations.size() == 168);
    std::set<std::string> kernels;
    for (const Configuration& configuration : all.configurations) {
      kernels.insert(to_string(compiled_as(gemm_fp16x1(), configuration)));
    }
    CHECK(kernels.size() == 29);
  }

  TEST_CASE("it computes products of TF32 that are worth a preparation") {
    CHECK(computes(gemm_fp16x1(), problem(64, 64, 32)));
    CHECK(computes(gemm_fp16x1(), problem(64, 64, (1 << 21) - 1)));
    CHECK_FALSE(computes(gemm_fp16x1(), problem(64, 64, 31)));
    CHECK_FALSE(computes(gemm_fp16x1(), problem(64, 64, 1 << 21)));
    CHECK_FALSE(computes(gemm_fp16x1(), problem(64, 64, 256, Math::emulated)));
    CHECK_FALSE(computes(gemm_fp16x1(), problem(64, 64, 256, Math::strict)));
    GemmProblem batch = problem(64, 64, 256);
    batch.batch = 2;
    CHECK_FALSE(computes(gemm_fp16x1(), batch));
  }

  TEST_CASE("truncated sums stay within the bound of verification for data of one sign") {
    // A bound of truncation: 10 units for each 16 elements of K.
    for (const std::int64_t k : {32, 4096, 1 << 20, (1 << 21) - 1}) {
      const double allowed =
          gemm_fp16x1().operation->error_bound(problem(64, 64, k), InputData::linear);
      CHECK(0x1p14 + 10 * std::ceil(static_cast<double>(k) / 16) <= allowed + 10);
    }
  }

  TEST_CASE("the default is valid for any shape and chosen first for large ones") {
    for (const std::int64_t m : {1, 300, 1500, 2147483647}) {
      for (const std::int64_t n : {4, 1600, 2147483644}) {
        const Configuration configuration =
            gemm_fp16x1().default_configuration(problem(m, n, 1000));
        CHECK_NOTHROW(static_cast<void>(gemm_fp16x1().space.validated(configuration)));
      }
    }
    CHECK(gemm_fp16x1().first_choice(problem(1024, 1024, 1024)));
    CHECK_FALSE(gemm_fp16x1().first_choice(problem(512, 512, 512)));
    CHECK_FALSE(gemm_fp16x1().first_choice(problem(4096, 4096, 4096, Math::emulated)));
  }

  TEST_CASE("the default takes large tiles as far as they fill a device") {
    const auto value = [](std::int64_t size, const char* name) {
      return gemm_fp16x1().default_configuration(problem(size, size, size)).at(name);
    };
    CHECK(value(512, "BLOCK_N") == 64);
    CHECK(value(512, "CLUSTER_K") == 2);
    CHECK(value(1024, "CLUSTER_K") == 1);
    CHECK(value(1024, "BLOCK_N") == 128);
    CHECK(value(1024, "WARPGROUPS") == 1);
    CHECK(value(2048, "BLOCK_N") == 256);
    CHECK(value(2048, "CLUSTER") == 2);
    CHECK(value(2048, "SPLIT_K") == 1);  // 128 tiles
    CHECK(value(3200, "CLUSTER") == 1);  // 25 rows of tiles
    CHECK(value(4096, "SPLIT_K") == 0);
  }

  TEST_CASE("buffers of one plane fill the shared memory that the epilogue leaves") {
    const GemmProblem shape = problem(512, 512, 512);
    constexpr std::int64_t kEpilogue = 4 * 16 * 160;  // for a group of four warps
    CHECK(geometry("BLOCK_N=256,WARPGROUPS=2", shape).dynamic_shared_bytes ==
          4 * 384 * 128 + 2 * kEpilogue);
    CHECK(geometry("BLOCK_N=192,WARPGROUPS=2", shape).dynamic_shared_bytes ==
          5 * 320 * 128 + 2 * kEpilogue);
    CHECK(geometry("BLOCK_N=128,WARPGROUPS=1,MIN_BLOCKS=2", shape).dynamic_shared_bytes ==
          4 * 192 * 128 + kEpilogue);
    CHECK(geometry("BLOCK_N=256,WARPGROUPS=2", shape).threads() == 384);
  }

  TEST_CASE("every configuration has at least three buffers") {
    for (const Configuration& configuration : gemm_fp16x1().space.enumerate().configurations) {
      const std::int64_t stage =
          (64 * configuration.at("WARPGROUPS") + configuration.at("BLOCK_N")) * 128;
      CHECK(gemm_fp16x1().geometry(configuration, problem(64, 64, 64)).dynamic_shared_bytes >=
            3 * stage);
    }
  }

  TEST_CASE("the workspace has a plane of each operand, and parts where tiles are shared") {
    // Exponents of 512 and 768 rows, planes of 104 and 304 rows and three k-tiles, slack.
    const std::int64_t planes =
        4 * (512 + 768) + 3 * (104 + 304) * 128 + 256 * 128 + 4 * kWorkspaceCounters;
    CHECK(geometry("CLUSTER=1,SPLIT_K=1", problem(100, 300, 150)).workspace_bytes() == planes);
    const LaunchGeometry shared = geometry("CLUSTER=1,SPLIT_K=0", problem(100, 300, 150));
    CHECK(shared.blocks() == 2 * 3);
    CHECK(shared.workspace_bytes() == planes + 6 * 2 * 4 * 128 * 256);
    CHECK(shared.preparation.shares[1].bytes == 4 * 768 + 3 * 304 * 128 + 256 * 128);
  }

  TEST_CASE("large tiles are predicted to win large products, and small ones small products") {
    const SmLimits sm = *sm_limits("sm_90");
    const auto cycles = [&](const std::string& text, std::int64_t size) {
      return predicted_cycles(gemm_fp16x1(), changed(text), problem(size, size, size), sm, 132);
    };
    const std::string small = "BLOCK_N=64,WARPGROUPS=1,CLUSTER=1,SPLIT_K=1";
    const std::string square = "BLOCK_N=128,WARPGROUPS=2,CLUSTER=2";
    const std::string wide = "BLOCK_N=256,WARPGROUPS=2,CLUSTER=2";
    CHECK(cycles(wide, 4096) < cycles(square, 4096));
    CHECK(cycles(square, 4096) < cycles(small, 4096));
    CHECK(cycles(small, 512) < cycles(wide + ",SPLIT_K=1", 512));
    // Blocks that do not share copies wait for the L2 cache.
    CHECK(cycles(wide, 4096) < cycles("BLOCK_N=256,WARPGROUPS=2,CLUSTER=1", 4096));
  }
}

}  // namespace
}  // namespace autotune
