// The search space and the launch geometry of gemm_mma.
#include <set>

#include <doctest/doctest.h>

#include "autotune/problem.hpp"

#include "core/occupancy.hpp"
#include "kernel_templates/kernel_set.hpp"

namespace autotune {
namespace {

const KernelTemplate& gemm_mma() {
  return *built_in_kernels().find("gemm_mma");
}

GemmProblem problem(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {.m = m,
          .n = n,
          .k = k,
          .types = {ElementType::bf16, ElementType::bf16, ElementType::bf16, ElementType::f32}};
}

Configuration changed(const std::string& text) {
  Configuration result = gemm_mma().default_configuration(problem(4096, 4096, 4096));
  const Configuration changes = Configuration::parse(text);
  for (const auto& [name, value] : changes.entries()) result.set(name, value);
  return result;
}

TEST_SUITE("gemm_mma space") {
  TEST_CASE("the launch decides the division of the work") {
    const Enumeration all = gemm_mma().space.enumerate();
    CHECK(all.configurations.size() == 512);
    std::set<std::string> kernels;
    for (const Configuration& configuration : all.configurations) {
      kernels.insert(to_string(compiled_as(gemm_mma(), configuration)));
    }
    CHECK(kernels.size() == 88);
  }

  TEST_CASE("it computes products of 16-bit operands with FP32 sums") {
    using enum ElementType;
    const auto computes_types = [](const GemmTypes& types) {
      GemmProblem shape = problem(8, 8, 8);
      shape.types = types;
      return computes(gemm_mma(), shape);
    };
    CHECK(computes_types({bf16, bf16, bf16, f32}));
    CHECK(computes_types({f16, f16, f32, f32}));
    CHECK_FALSE(computes_types({f32, f32, f32, f32}));
    CHECK_FALSE(computes_types({bf16, f16, f32, f32}));
  }

  TEST_CASE("the default is valid for any shape and fits every device") {
    for (const std::int64_t m : {1, 300, 1501, 2147483647}) {
      for (const std::int64_t n : {4, 1600, 2147483644}) {
        const GemmProblem shape = problem(m, n, 1000);
        const Configuration configuration = gemm_mma().default_configuration(shape);
        CHECK_NOTHROW(static_cast<void>(gemm_mma().space.validated(configuration)));
        CHECK(gemm_mma().fits(configuration, shape));
        CHECK(gemm_mma().geometry(configuration, shape).dynamic_shared_bytes <=
              sm_limits("sm_86")->shared_per_block);
      }
    }
  }

  TEST_CASE("the workspace has parts where tiles are shared") {
    const auto geometry = [](const char* text, const GemmProblem& shape) {
      return gemm_mma().geometry(changed(text), shape);
    };
    CHECK(geometry("SPLIT_K=1", problem(300, 300, 100)).workspace_bytes() == 0);
    const LaunchGeometry shared = geometry("SPLIT_K=4", problem(300, 300, 200));
    CHECK(shared.blocks() == 9 * 4);
    CHECK(shared.workspace_bytes() == 4 * kWorkspaceCounters + 36 * 2 * 4 * 128 * 128);
    CHECK(geometry("SPLIT_K=8", problem(300, 300, 40)).blocks() == 9 * 2);  // k-tiles of 32
    CHECK(geometry("SPLIT_K=0", problem(4096, 4096, 4096)).on_device(132).blocks() == 264);
    GemmProblem batch = problem(300, 300, 100);
    batch.batch = 5;
    CHECK(geometry("SPLIT_K=1", batch).blocks() == 9 * 5);
  }

  TEST_CASE("operands whose lines begin anywhere may be copied first") {
    const Configuration repacks = changed("REPACK=1,SPLIT_K=1");
    CHECK_FALSE(gemm_mma().fits(repacks, problem(999, 1000, 1000)));
    CHECK(gemm_mma().fits(repacks, problem(1000, 1000, 999)));  // lines of A
    CHECK(gemm_mma().fits(repacks, problem(1000, 999, 1000)));  // of B
    GemmProblem shape = problem(100, 70, 33);
    const LaunchGeometry geometry = gemm_mma().geometry(repacks, shape);
    // Lines of 64 and 96 elements; A in whole units of 256 bytes.
    CHECK(geometry.workspace_bytes_shared == 2 * (100 * 64 + 25 * 128));
    CHECK(geometry.preparation.blocks == 4);
    CHECK(geometry.preparation.threads == 256);
    shape.batch = 3;
    set_layout(shape, "TT");  // 33 lines of 128 elements, 70 lines of 64
    CHECK(gemm_mma().geometry(repacks, shape).workspace_bytes_shared ==
          2 * 3 * (33 * 128 + 70 * 64));
    CHECK(gemm_mma().geometry(changed("REPACK=0"), shape).preparation.blocks == 0);
  }

  TEST_CASE("large tiles are predicted to win large products, and shared ones small products") {
    const SmLimits sm = *sm_limits("sm_90");
    const auto cycles = [&](const std::string& text, const GemmProblem& shape) {
      return predicted_cycles(gemm_mma(), changed(text), shape, sm, 132);
    };
    const std::string small = "BLOCK_M=64,BLOCK_N=64,MIN_BLOCKS=4,SPLIT_K=4";
    CHECK(cycles("SPLIT_K=0", problem(4096, 4096, 4096)) <
          cycles(small, problem(4096, 4096, 4096)));
    CHECK(cycles(small, problem(256, 256, 4096)) < cycles("SPLIT_K=1", problem(256, 256, 4096)));
    CHECK(cycles("REPACK=1", problem(4097, 4097, 4097)) <
          cycles("REPACK=0", problem(4097, 4097, 4097)));
    CHECK(cycles(small, problem(129, 129, 129)) <
          cycles(small + ",REPACK=1", problem(129, 129, 129)));
  }
}

}  // namespace
}  // namespace autotune
