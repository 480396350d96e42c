// The search space and the launch geometry of gemm_fp16x3.
#include <set>
#include <utility>

#include <doctest/doctest.h>

#include "autotune/problem.hpp"

#include "core/occupancy.hpp"
#include "kernel_templates/kernel_set.hpp"

namespace autotune {
namespace {

const KernelTemplate& gemm_fp16x3() {
  return *built_in_kernels().find("gemm_fp16x3");
}

GemmProblem problem(std::int64_t m, std::int64_t n, std::int64_t k,
                    const std::string& layout = "NN") {
  GemmProblem result{.m = m, .n = n, .k = k, .math = Math::emulated};
  set_layout(result, layout);
  return result;
}

Configuration changed(const std::string& text) {
  Configuration result = gemm_fp16x3().default_configuration(problem(4096, 4096, 4096));
  const Configuration changes = Configuration::parse(text);
  for (const auto& [name, value] : changes.entries()) result.set(name, value);
  return result;
}

LaunchGeometry geometry(const std::string& text, const GemmProblem& shape) {
  return gemm_fp16x3().geometry(changed(text), shape);
}

TEST_SUITE("gemm_fp16x3 space") {
  TEST_CASE("a few kernels make all configurations") {
    const Enumeration all = gemm_fp16x3().space.enumerate();
    CHECK(all.configurations.size() == 252);
    std::set<std::string> kernels;
    for (const Configuration& configuration : all.configurations) {
      kernels.insert(to_string(compiled_as(gemm_fp16x3(), configuration)));
    }
    CHECK(kernels.size() == 46);
  }

  TEST_CASE("tiles of any columns split K in a cluster, but only those of 128 share copies") {
    std::set<std::int64_t> columns, that_split;
    for (const Configuration& configuration : gemm_fp16x3().space.enumerate().configurations) {
      CAPTURE(to_string(configuration));
      const std::int64_t of_tile = configuration.at("BLOCK_N");
      columns.insert(of_tile);
      if (configuration.at("CLUSTER_K") == 8) that_split.insert(of_tile);
      CHECK((of_tile == 128 || configuration.at("CLUSTER") == 1));
    }
    CHECK(columns == std::set<std::int64_t>{64, 80, 96, 112, 128});
    CHECK(that_split == columns);
    const auto validated = [](const std::string& text) {
      static_cast<void>(gemm_fp16x3().space.validated(changed(text)));
    };
    CHECK_NOTHROW(validated("BLOCK_N=64,SPLIT_K=1,CLUSTER_K=8,RASTER=4"));
    CHECK_THROWS_WITH_AS(validated("BLOCK_N=64,SPLIT_K=0,CLUSTER_K=8,RASTER=4"),
                         doctest::Contains("with CLUSTER_K above 1"), std::exception);
  }

  TEST_CASE("with a short K sums are promoted more often, by this template alone") {
    const auto macros = [](const char* name, std::int64_t k) {
      return code_traits(*built_in_kernels().find(name), problem(64, 64, k)).macros;
    };
    CHECK(macros("gemm_fp16x3", 255).back() == "PROMOTE_K=32");
    CHECK(macros("gemm_fp16x3", 256) == gemm_fp16x3().operation->code_macros(problem(64, 64, 256)));
    CHECK(macros("gemm_tma", 255) == macros("gemm_tma", 256));
  }

  TEST_CASE("it computes emulated products with enough terms, all others strict ones too") {
    CHECK(computes(gemm_fp16x3(), problem(64, 64, 64)));
    CHECK_FALSE(computes(gemm_fp16x3(), problem(64, 64, 63)));
    CHECK_FALSE(computes(gemm_fp16x3(), GemmProblem{.m = 64, .n = 64, .k = 256}));
    GemmProblem tf32 = problem(64, 64, 256);
    tf32.math = Math::tf32;
    CHECK_FALSE(computes(gemm_fp16x3(), tf32));  // gemm_fp16x1 does
    for (const char* name : {"gemm_tiled", "gemm_simt", "gemm_tma"}) {
      CHECK(computes(*built_in_kernels().find(name), problem(64, 64, 64)));
    }
    CHECK(computes(*built_in_kernels().find("gemm_skinny"), problem(64, 4, 64)));
  }

  TEST_CASE("the default has whole tiles in few rounds, or shares tiles where rounds are many") {
    const auto columns = [](std::int64_t m, std::int64_t n, std::int64_t k) {
      const Configuration result = gemm_fp16x3().default_configuration(problem(m, n, k));
      return std::pair(result.at("BLOCK_N"), result.at("SPLIT_K"));
    };
    CHECK(columns(1183, 953, 2865) == std::pair<std::int64_t, std::int64_t>(80, 1));
    CHECK(columns(747, 2437, 1177) == std::pair<std::int64_t, std::int64_t>(112, 1));
    CHECK(columns(1600, 1600, 1600) == std::pair<std::int64_t, std::int64_t>(80, 1));
    CHECK(columns(1024, 1024, 1024) == std::pair<std::int64_t, std::int64_t>(64, 1));
    CHECK(columns(4096, 4096, 4096) == std::pair<std::int64_t, std::int64_t>(128, 0));
  }

  TEST_CASE("by default several blocks split K of few tiles, with two k_tiles each at least") {
    const auto blocks = [](std::int64_t m, std::int64_t n, std::int64_t k) {
      return gemm_fp16x3().default_configuration(problem(m, n, k)).at("CLUSTER_K");
    };
    CHECK(blocks(512, 512, 512) == 2);
    CHECK(blocks(115, 733, 767) == 4);
    CHECK(blocks(64, 64, 65536) == 8);
    CHECK(blocks(64, 64, 512) == 4);
    CHECK(blocks(64, 64, 192) == 1);
    CHECK(blocks(576, 512, 4096) == 1);  // 72 tiles, more than half of the SMs
    CHECK(blocks(4096, 4096, 4096) == 1);
  }

  TEST_CASE("the default is valid for any shape and chosen first for large ones") {
    for (const std::int64_t m : {1, 300, 1500, 2147483647}) {
      for (const std::int64_t n : {4, 1600, 2147483644}) {
        const Configuration configuration =
            gemm_fp16x3().default_configuration(problem(m, n, 1000));
        CHECK_NOTHROW(static_cast<void>(gemm_fp16x3().space.validated(configuration)));
      }
    }
    CHECK(gemm_fp16x3().first_choice(problem(1024, 1024, 1024)));
    GemmProblem tf32 = problem(1024, 1024, 1024);
    tf32.math = Math::tf32;
    CHECK_FALSE(gemm_fp16x3().first_choice(tf32));
    CHECK(gemm_fp16x3().first_choice(problem(512, 512, 512)));
    CHECK_FALSE(gemm_fp16x3().first_choice(problem(256, 256, 256)));
    CHECK_FALSE(gemm_fp16x3().first_choice(GemmProblem{.m = 4096, .n = 4096, .k = 4096}));
  }

  TEST_CASE("buffers of one plane fill the shared memory that the epilogue leaves") {
    const GemmProblem shape = problem(512, 512, 512);
    constexpr std::int64_t kEpilogue = 4 * 16 * 160;  // for a group of four warps
    CHECK(geometry("BLOCK_N=128,WARPGROUPS=2", shape).dynamic_shared_bytes ==
          6 * 256 * 128 + 2 * kEpilogue);
    CHECK(geometry("BLOCK_N=64,WARPGROUPS=1,MIN_BLOCKS=2", shape).dynamic_shared_bytes ==
          6 * 128 * 128 + kEpilogue);
    CHECK(geometry("BLOCK_N=80,WARPGROUPS=2", shape).dynamic_shared_bytes ==
          7 * 208 * 128 + 2 * kEpilogue);
    CHECK(geometry("BLOCK_N=112,WARPGROUPS=1,MIN_BLOCKS=2", shape).dynamic_shared_bytes ==
          4 * 176 * 128 + kEpilogue);
    CHECK(geometry("BLOCK_N=128,WARPGROUPS=2", shape).threads() == 384);
    for (const Configuration& configuration : gemm_fp16x3().space.enumerate().configurations) {
      CAPTURE(to_string(configuration));
      const std::int64_t groups = configuration.at("WARPGROUPS");
      const std::int64_t buffer = (64 * groups + configuration.at("BLOCK_N")) * 128;
      const std::int64_t bytes =
          gemm_fp16x3().geometry(configuration, shape).dynamic_shared_bytes - groups * kEpilogue;
      CHECK(buffer % 1024 == 0);  // as the swizzle of 128 bytes has it
      CHECK(bytes % buffer == 0);
      CHECK(bytes / buffer > 2);  // planes of a k-tile
    }
  }

  TEST_CASE("the workspace has both planes of both operands, and parts where tiles are shared") {
    // Exponents of 512 and 768 rows, planes of 104 and 304 rows and three k-tiles, slack.
    const std::int64_t planes =
        4 * (512 + 768) + 2 * 3 * (104 + 304) * 128 + 256 * 128 + 4 * kWorkspaceCounters;
    CHECK(geometry("SPLIT_K=1", problem(100, 300, 150)).workspace_bytes() == planes);
    const LaunchGeometry shared = geometry("SPLIT_K=0", problem(100, 300, 150));
    CHECK(shared.blocks() == 3 * 3);
    CHECK(shared.workspace_bytes() == planes + 9 * 2 * 4 * 128 * 128);
    const LaunchGeometry narrower = geometry("BLOCK_N=80,SPLIT_K=0", problem(100, 300, 150));
    CHECK(narrower.blocks() == 4 * 3);
    CHECK(narrower.workspace_bytes() == planes + 12 * 2 * 4 * 128 * 80);
    // The blocks of a cluster add their sums in shared memory.
    const LaunchGeometry split = geometry("SPLIT_K=1,CLUSTER_K=4", problem(100, 300, 150));
    CHECK(split.blocks() == 3 * 4);
    CHECK(split.blocks_per_cluster == 4);
    CHECK(split.workspace_bytes() == planes);
    // A cluster takes one tile, however many k_tiles all of them have.
    const LaunchGeometry large =
        geometry("SPLIT_K=1,CLUSTER_K=2", problem(1 << 20, 1 << 20, 1 << 20));
    CHECK(large.blocks() == (std::int64_t{1} << 26) * 2);
    CHECK(large.on_device(132).blocks() == large.blocks());
  }

  TEST_CASE("what a cluster may read behind an operand's planes is there") {
    // One row has 8 in a k-tile; the second block of a cluster reads rows 128 to 255.
    const LaunchGeometry one = geometry("CLUSTER=2", problem(1, 1, 256));
    const std::int64_t plane = 4 * 512 + 2 * 4 * 8 * 128;
    CHECK(one.preparation.shares[0].bytes >= plane + (256 - 8) * 128);
  }

  TEST_CASE("tiles that are taken in turn have as many blocks as run at once") {
    const LaunchGeometry one = geometry("SPLIT_K=0,CLUSTER=2", problem(4096, 4096, 4096));
    CHECK(one.resident_blocks_per_sm == 1);
    CHECK(one.on_device(132).blocks() == 132);
    // Clusters stay whole where the SMs do not divide among them.
    CHECK(one.on_device(3).blocks() == 2);
    CHECK(one.on_device(1).blocks() == 2);
    CHECK(geometry("SPLIT_K=0", problem(64, 64, 64)).on_device(132).blocks() == 1);
    CHECK(geometry("SPLIT_K=1", problem(32768, 32768, 4096)).blocks() == 256 * 256);
  }

  TEST_CASE("the operands are split by a launch of their own, in whole clusters") {
    // Rows of 512 contiguous elements have 32 threads each; 32 strided ones a cluster.
    CHECK(geometry("PREPARE_THREADS=256", problem(512, 512, 512)).preparation.blocks == 64 + 128);
    CHECK(geometry("PREPARE_THREADS=256", problem(512, 512, 512, "NT")).preparation.blocks ==
          64 + 64);
    CHECK(geometry("PREPARE_THREADS=256", problem(512, 512, 512, "TT")).preparation.blocks ==
          128 + 64);
    CHECK(geometry("PREPARE_THREADS=128", problem(512, 512, 512)).preparation.blocks == 128 + 128);
    // A warp has two short rows, or four.
    CHECK(geometry("PREPARE_THREADS=256", problem(512, 512, 256, "NT")).preparation.blocks ==
          32 + 32);
    CHECK(geometry("PREPARE_THREADS=256", problem(512, 512, 128, "NT")).preparation.blocks ==
          16 + 16);
    CHECK(geometry("PREPARE_THREADS=256", problem(1, 1, 5000)).preparation.blocks == 8 + 8);
    CHECK(geometry("PREPARE_THREADS=256", problem(64, 64, 2048)).preparation.dynamic_shared_bytes ==
          4 * (548 + 33 * 256));
    CHECK(geometry("PREPARE_THREADS=256", problem(64, 64, 1 << 20))
              .preparation.dynamic_shared_bytes == 4 * (548 + 33 * 1024));
    CHECK(geometry("PREPARE_THREADS=256", problem(64, 64, 512, "NT"))
              .preparation.dynamic_shared_bytes == 4 * (256 + 16 * 256));
  }

  TEST_CASE("large tiles are predicted to win large products, and small ones small products") {
    const SmLimits sm = *sm_limits("sm_90");
    const auto cycles = [&](const std::string& text, const GemmProblem& shape) {
      return predicted_cycles(gemm_fp16x3(), changed(text), shape, sm, 132);
    };
    const std::string small = "BLOCK_N=64,WARPGROUPS=1,SPLIT_K=1";
    CHECK(cycles("SPLIT_K=0", problem(4096, 4096, 4096)) <
          cycles(small, problem(4096, 4096, 4096)));
    CHECK(cycles(small, problem(512, 512, 512)) < cycles("SPLIT_K=1", problem(512, 512, 512)));
  }

  TEST_CASE("the tiles of which one round fits the device best are predicted to win") {
    const SmLimits sm = *sm_limits("sm_90");
    const GemmProblem shape = problem(1183, 953, 2865);
    const auto cycles = [&](const std::string& columns) {
      return predicted_cycles(gemm_fp16x3(), changed("SPLIT_K=1,BLOCK_N=" + columns), shape, sm,
                              132);
    };
    CHECK(geometry("SPLIT_K=1,BLOCK_N=80", shape).blocks() == 10 * 12);
    for (const char* columns : {"64", "96", "112", "128"}) CHECK(cycles("80") < cycles(columns));
  }
}

}  // namespace
}  // namespace autotune
