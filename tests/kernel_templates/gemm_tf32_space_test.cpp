// The search space and the launch geometry of gemm_tf32.
#include <set>

#include <doctest/doctest.h>

#include "autotune/problem.hpp"

#include "core/occupancy.hpp"
#include "kernel_templates/kernel_set.hpp"

namespace autotune {
namespace {

const KernelTemplate& gemm_tf32() {
  return *built_in_kernels().find("gemm_tf32");
}

GemmProblem problem(std::int64_t m, std::int64_t n, std::int64_t k, Math math = Math::emulated) {
  return {.m = m, .n = n, .k = k, .math = math};
}

Configuration changed(const std::string& text) {
  Configuration result = gemm_tf32().default_configuration(problem(4096, 4096, 4096));
  const Configuration changes = Configuration::parse(text);
  for (const auto& [name, value] : changes.entries()) result.set(name, value);
  return result;
}

TEST_SUITE("gemm_tf32 space") {
  TEST_CASE("the launch decides the division of the work") {
    const Enumeration all = gemm_tf32().space.enumerate();
    CHECK(all.configurations.size() == 1680);
    std::set<std::string> kernels;
    for (const Configuration& configuration : all.configurations) {
      kernels.insert(to_string(compiled_as(gemm_tf32(), configuration)));
    }
    CHECK(kernels.size() == 210);
  }

  TEST_CASE("it computes products of TF32, and emulated ones with enough terms") {
    CHECK(computes(gemm_tf32(), problem(8, 8, 1, Math::tf32)));
    CHECK(computes(gemm_tf32(), problem(8, 8, 128)));
    CHECK_FALSE(computes(gemm_tf32(), problem(8, 8, 127)));
    CHECK_FALSE(computes(gemm_tf32(), problem(8, 8, 128, Math::strict)));
  }

  TEST_CASE("strict kernels and that of one FP16 product compute products of TF32") {
    for (const char* name : {"gemm_tiled", "gemm_simt", "gemm_tma", "gemm_fp16x1"}) {
      CHECK(computes(*built_in_kernels().find(name), problem(64, 64, 256, Math::tf32)));
    }
  }

  TEST_CASE("only the code of TF32 products differs by the problem's math") {
    const Operation& gemm = *gemm_tf32().operation;
    const auto macros = [&](Math math) { return gemm.code_macros(problem(8, 8, 128, math)); };
    CHECK(macros(Math::emulated) == macros(Math::strict));
    CHECK(macros(Math::tf32).back() == "MATH_TF32=1");
  }

  TEST_CASE("the default is valid for any shape and fits every device") {
    for (const std::int64_t m : {1, 300, 1500, 2147483647}) {
      for (const std::int64_t n : {4, 1600, 2147483644}) {
        const Configuration configuration = gemm_tf32().default_configuration(problem(m, n, 1000));
        CHECK_NOTHROW(static_cast<void>(gemm_tf32().space.validated(configuration)));
        const GemmProblem shape = problem(m, n, 1000);
        CHECK(gemm_tf32().geometry(configuration, shape).dynamic_shared_bytes <=
              sm_limits("sm_86")->shared_per_block);
      }
    }
  }

  TEST_CASE("shared memory has gaps that depend on the layout") {
    const auto bytes = [](const char* layout) {
      GemmProblem shape = problem(512, 512, 512);
      set_layout(shape, layout);
      return gemm_tf32()
          .geometry(changed("WARP_M=32,WARPS_N=2,BLOCK_K=16,STAGES=2"), shape)
          .dynamic_shared_bytes;
    };
    CHECK(bytes("NT") == 4 * 2 * (64 * 20 + 64 * 20));
    CHECK(bytes("NN") == 4 * 2 * (64 * 20 + 16 * 72));
    CHECK(bytes("TN") == 4 * 2 * (16 * 72 + 16 * 72));
  }

  TEST_CASE("the workspace has parts where tiles are shared") {
    const auto geometry = [](const char* text, const GemmProblem& shape) {
      return gemm_tf32().geometry(changed(text), shape);
    };
    CHECK(geometry("SPLIT_K=1", problem(300, 300, 100)).workspace_bytes() == 0);
    const LaunchGeometry shared = geometry("SPLIT_K=3", problem(300, 300, 100));
    CHECK(shared.blocks() == 9 * 3);
    CHECK(shared.workspace_bytes() == 4 * kWorkspaceCounters + 27 * 2 * 4 * 128 * 128);
    CHECK(geometry("SPLIT_K=8", problem(300, 300, 40)).blocks() == 9 * 3);  // k-tiles of 16
    CHECK(geometry("SPLIT_K=0", problem(4096, 4096, 4096)).on_device(132).blocks() == 132);
  }

  TEST_CASE("large tiles are predicted to win large products, and shared ones small products") {
    const SmLimits sm = *sm_limits("sm_90");
    const auto cycles = [&](const std::string& text, const GemmProblem& shape) {
      return predicted_cycles(gemm_tf32(), changed(text), shape, sm, 132);
    };
    const std::string small = "WARP_M=32,WARPS_N=2,MIN_BLOCKS=2,SPLIT_K=2";
    CHECK(cycles("SPLIT_K=0", problem(4096, 4096, 4096)) <
          cycles(small, problem(4096, 4096, 4096)));
    CHECK(cycles(small, problem(512, 512, 512)) < cycles("SPLIT_K=1", problem(512, 512, 512)));
    CHECK(cycles(small, problem(512, 512, 512, Math::tf32)) <
          cycles(small, problem(512, 512, 512)));
  }
}

}  // namespace
}  // namespace autotune
