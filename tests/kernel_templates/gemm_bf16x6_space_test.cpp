// The search space and the launch geometry of gemm_bf16x6, where they are not those of gemm_fp16x3.
#include <algorithm>
#include <set>

#include <doctest/doctest.h>

#include "autotune/problem.hpp"

#include "core/occupancy.hpp"
#include "kernel_templates/kernel_set.hpp"

namespace autotune {
namespace {

const KernelTemplate& gemm_bf16x6() {
  return *built_in_kernels().find("gemm_bf16x6");
}

GemmProblem problem(std::int64_t m, std::int64_t n, std::int64_t k, Math math = Math::emulated) {
  return {.m = m, .n = n, .k = k, .math = math};
}

Configuration changed(const std::string& text) {
  Configuration result = gemm_bf16x6().default_configuration(problem(4096, 4096, 4096));
  const Configuration changes = Configuration::parse(text);
  for (const auto& [name, value] : changes.entries()) result.set(name, value);
  return result;
}

TEST_SUITE("gemm_bf16x6 space") {
  TEST_CASE("a few kernels make all configurations") {
    const Enumeration all = gemm_bf16x6().space.enumerate();
    CHECK(all.configurations.size() == 96);
    std::set<std::string> kernels;
    for (const Configuration& configuration : all.configurations) {
      kernels.insert(to_string(compiled_as(gemm_bf16x6(), configuration)));
    }
    CHECK(kernels.size() == 18);
  }

  TEST_CASE("it computes emulated products with enough terms") {
    CHECK(computes(gemm_bf16x6(), problem(64, 64, 256)));
    CHECK(computes(gemm_bf16x6(), problem(64, 64, (1 << 21) - 1)));
    CHECK_FALSE(computes(gemm_bf16x6(), problem(64, 64, 255)));
    CHECK_FALSE(computes(gemm_bf16x6(), problem(64, 64, 1 << 21)));
    CHECK_FALSE(computes(gemm_bf16x6(), problem(64, 64, 256, Math::strict)));
    CHECK_FALSE(computes(gemm_bf16x6(), problem(64, 64, 256, Math::tf32)));
  }

  TEST_CASE("it is tried only where it is named") {
    DeviceInfo device;
    device.compute_major = 9;
    device.compute_minor = 0;
    const auto tried = [&](const char* name) {
      const auto kernels = built_in_kernels().for_device(device);
      return std::find(kernels.begin(), kernels.end(), built_in_kernels().find(name)) !=
             kernels.end();
    };
    CHECK(runs_on(gemm_bf16x6(), 90));
    CHECK_FALSE(tried("gemm_bf16x6"));
    CHECK(tried("gemm_fp16x3"));
    CHECK_FALSE(gemm_bf16x6().first_choice);
  }

  TEST_CASE("the default is valid for any shape") {
    for (const std::int64_t m : {1, 300, 1500, 2147483647}) {
      for (const std::int64_t n : {4, 1600, 2147483644}) {
        const Configuration configuration =
            gemm_bf16x6().default_configuration(problem(m, n, 1000));
        CHECK_NOTHROW(static_cast<void>(gemm_bf16x6().space.validated(configuration)));
      }
    }
  }

  TEST_CASE("the workspace has three planes of both operands") {
    // Exponents of 512 and 768 rows, planes of 104 and 304 rows and three k-tiles, slack.
    const std::int64_t planes =
        4 * (512 + 768) + 3 * 3 * (104 + 304) * 128 + 256 * 128 + 4 * kWorkspaceCounters;
    const LaunchGeometry one = gemm_bf16x6().geometry(changed("SPLIT_K=1"), problem(100, 300, 150));
    CHECK(one.workspace_bytes() == planes);
    CHECK(one.preparation.shares[0].bytes == 4 * 512 + 3 * 3 * 104 * 128 + 256 * 128);
  }

  TEST_CASE("shared memory has room for more planes than those of one k-tile") {
    for (const Configuration& configuration : gemm_bf16x6().space.enumerate().configurations) {
      const std::int64_t rows = 64 * configuration.at("WARPGROUPS") + configuration.at("BLOCK_N");
      const LaunchGeometry one = gemm_bf16x6().geometry(configuration, problem(512, 512, 512));
      CHECK(one.dynamic_shared_bytes >= 4 * rows * 128);
    }
  }

  TEST_CASE("a large product is predicted to take twice as long as three products of FP16") {
    const SmLimits sm = *sm_limits("sm_90");
    const auto cycles = [&](const char* name) {
      return predicted_cycles(*built_in_kernels().find(name), changed("SPLIT_K=0"),
                              problem(8192, 8192, 8192), sm, 132);
    };
    CHECK(cycles("gemm_bf16x6") == doctest::Approx(2 * cycles("gemm_fp16x3")).epsilon(0.05));
  }
}

}  // namespace
}  // namespace autotune
