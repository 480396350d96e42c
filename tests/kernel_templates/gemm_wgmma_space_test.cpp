// The search space and the launch geometry of gemm_wgmma.
#include <set>

#include <doctest/doctest.h>

#include "autotune/problem.hpp"

#include "core/occupancy.hpp"
#include "kernel_templates/kernel_set.hpp"
#include "operation/gemm/gemm.hpp"

namespace autotune {
namespace {

const KernelTemplate& gemm_wgmma() {
  return *built_in_kernels().find("gemm_wgmma");
}

GemmProblem problem(std::int64_t m, std::int64_t n, std::int64_t k, const char* types = "bf16") {
  return {.m = m, .n = n, .k = k, .op_b = Transpose::transposed, .types = types_from_string(types)};
}

Configuration changed(const std::string& text) {
  Configuration result = gemm_wgmma().default_configuration(problem(4096, 4096, 4096));
  const Configuration changes = Configuration::parse(text);
  for (const auto& [name, value] : changes.entries()) result.set(name, value);
  return result;
}

LaunchGeometry geometry(const std::string& text, const GemmProblem& shape) {
  return gemm_wgmma().geometry(changed(text), shape);
}

TEST_SUITE("gemm_wgmma space") {
  TEST_CASE("a few kernels make all configurations") {
    const Enumeration all = gemm_wgmma().space.enumerate();
    CHECK(all.configurations.size() == 192);
    std::set<std::string> kernels;
    for (const Configuration& configuration : all.configurations) {
      kernels.insert(to_string(compiled_as(gemm_wgmma(), configuration)));
    }
    CHECK(kernels.size() == 60);
  }

  TEST_CASE("it computes 16-bit operands in rows of whole vectors, and results of two types") {
    CHECK(computes(gemm_wgmma(), problem(8, 8, 8)));
    CHECK(computes(gemm_wgmma(), problem(8, 8, 8, "f16")));
    CHECK(computes(gemm_wgmma(), problem(8, 8, 8, "bf16-f32")));
    CHECK_FALSE(computes(gemm_wgmma(), problem(8, 8, 8, "f32")));
    CHECK_FALSE(computes(gemm_wgmma(), problem(8, 8, 9)));
    CHECK_FALSE(computes(gemm_wgmma(), problem(8, 3, 8)));  // rows of C
    CHECK(computes(gemm_wgmma(), problem(8, 4, 8, "bf16-f32")));
  }

  TEST_CASE("the default is valid for any shape") {
    for (const std::int64_t m : {1, 300, 1500, 16384}) {
      for (const std::int64_t n : {8, 1600, 262144}) {
        const Configuration configuration = gemm_wgmma().default_configuration(problem(m, n, 1024));
        CHECK_NOTHROW(static_cast<void>(gemm_wgmma().space.validated(configuration)));
      }
    }
  }

  TEST_CASE("the default has tiles as large as keep a device busy, and splits K of few") {
    const auto text = [](std::int64_t m, std::int64_t n, std::int64_t k) {
      const Configuration found = gemm_wgmma().default_configuration(problem(m, n, k));
      return std::to_string(found.at("BLOCK_M")) + "x" + std::to_string(found.at("BLOCK_N")) + "/" +
             std::to_string(found.at("CLUSTER_K"));
    };
    CHECK(text(4096, 4096, 4096) == "128x256/1");
    CHECK(text(2048, 2048, 2048) == "128x256/1");
    CHECK(text(1024, 1024, 1024) == "64x128/1");
    CHECK(text(256, 256, 8192) == "64x64/8");
    CHECK(text(256, 256, 128) == "64x64/1");
  }

  TEST_CASE("clusters have whole tiles side by side, or parts of K") {
    const GemmProblem shape = problem(1000, 300, 512);
    CHECK(geometry("BLOCK_M=64,BLOCK_N=64,CLUSTER=4,SPLIT_K=1", shape).blocks() == 4 * 4 * 5);
    const LaunchGeometry split =
        geometry("BLOCK_M=128,BLOCK_N=128,CLUSTER=1,CLUSTER_K=4,SPLIT_K=1", shape);
    CHECK(split.blocks() == 8 * 3 * 4);
    CHECK(split.blocks_per_cluster == 4);
    const LaunchGeometry persistent =
        geometry("BLOCK_M=128,BLOCK_N=256,CLUSTER=2,SPLIT_K=0", problem(8192, 8192, 8192));
    CHECK(persistent.on_device(132).blocks() == 132);
    CHECK(persistent.on_device(77).blocks() == 76);
    CHECK(persistent.workspace_bytes_per_block == 2 * 4 * 128 * 256);
    GemmProblem batch = shape;
    batch.batch = 3;
    CHECK(geometry("BLOCK_M=128,BLOCK_N=128,CLUSTER=1,SPLIT_K=1", batch).blocks() == 8 * 3 * 3);
  }

  TEST_CASE("copies are boxes of 128 bytes in each layout, and blocks of a cluster copy parts") {
    using Box = LaunchGeometry::Box;
    const std::string tile = "BLOCK_M=128,BLOCK_N=192,CLUSTER=2";
    GemmProblem shape = problem(512, 512, 512);
    const LaunchGeometry k_major = geometry(tile, shape);
    CHECK(k_major.map_swizzle == 128);
    CHECK(k_major.tensor_boxes[kGemmA] == Box{128, 64});
    CHECK(k_major.tensor_boxes[kGemmB] == Box{96, 64});
    shape.op_a = Transpose::transposed;
    shape.op_b = Transpose::none;
    const LaunchGeometry mn_major = geometry(tile, shape);
    CHECK(mn_major.tensor_boxes[kGemmA] == Box{64, 64});
    CHECK(mn_major.tensor_boxes[kGemmB] == Box{32, 64});
  }

  TEST_CASE("as many buffers as fit, and what warps exchange results through, are shared memory") {
    const GemmProblem shape = problem(512, 512, 512);
    const auto bytes = [&](const std::string& text) {
      return geometry(text, shape).dynamic_shared_bytes;
    };
    CHECK(bytes("BLOCK_M=128,BLOCK_N=256") == 4 * 384 * 128 + 8 * 2048);
    CHECK(bytes("BLOCK_M=128,BLOCK_N=128") == 6 * 256 * 128 + 8 * 2048);
    CHECK(bytes("BLOCK_M=64,BLOCK_N=64,PINGPONG=0") == 8 * 128 * 128 + 4 * 2048);
    for (const Configuration& configuration : gemm_wgmma().space.enumerate().configurations) {
      CHECK(gemm_wgmma().geometry(configuration, shape).dynamic_shared_bytes <= 226 * 1024);
    }
  }

  TEST_CASE("producers are a whole group of warps where the others need their registers") {
    const GemmProblem shape = problem(512, 512, 512);
    CHECK(geometry("BLOCK_M=128,BLOCK_N=256", shape).threads() == 384);
    CHECK(geometry("BLOCK_M=128,BLOCK_N=128", shape).threads() == 288);
    CHECK(geometry("BLOCK_M=128,BLOCK_N=128,PINGPONG=1", shape).threads() == 384);
    CHECK(geometry("BLOCK_M=64,BLOCK_N=256,PINGPONG=0", shape).threads() == 160);
  }

  TEST_CASE("large tiles are predicted to win large products, small ones small products") {
    const SmLimits sm = *sm_limits("sm_90");
    const auto cycles = [&](const std::string& text, const GemmProblem& shape) {
      return predicted_cycles(gemm_wgmma(), changed(text), shape, sm, 132);
    };
    const std::string large = "BLOCK_M=128,BLOCK_N=256,CLUSTER=2,SPLIT_K=0";
    const std::string small = "BLOCK_M=64,BLOCK_N=128,CLUSTER=2,SPLIT_K=1";
    CHECK(cycles(large, problem(8192, 8192, 8192)) < cycles(small, problem(8192, 8192, 8192)));
    CHECK(cycles(small, problem(1024, 1024, 1024)) < cycles(large, problem(1024, 1024, 1024)));
  }
}

}  // namespace
}  // namespace autotune
