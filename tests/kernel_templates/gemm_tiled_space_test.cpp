// The search space and the launch geometry of gemm_tiled.
#include <algorithm>
#include <set>

#include <doctest/doctest.h>

#include "autotune/error.hpp"
#include "autotune/problem.hpp"

#include "kernel_templates/kernel_set.hpp"

using autotune::Configuration;
using autotune::Enumeration;
using autotune::GemmProblem;
using autotune::KernelTemplate;

namespace {

const KernelTemplate& gemm_tiled() {
  return *autotune::built_in_kernels().find("gemm_tiled");
}

Configuration changed(std::string_view changes) {
  Configuration configuration = Configuration::parse(
      "TILE_WIDTH=16,RESULTS_M=4,RESULTS_N=4,UNROLL=16,A_TRANSPOSED=0,PADDING=0,VECTOR_WIDTH=4,"
      "PREFETCH=1");
  const Configuration parsed = Configuration::parse(changes);
  for (const auto& [name, value] : parsed.entries()) configuration.set(name, value);
  return configuration;
}

}  // namespace

TEST_SUITE("gemm_tiled") {
  TEST_CASE("the space has hundreds of configurations and every value is in one") {
    const Enumeration all = gemm_tiled().space.enumerate();
    CHECK(all.configurations.size() >= 300);
    CHECK(all.configurations.size() <= 1600);
    for (const autotune::TuningParameter& parameter : gemm_tiled().space.parameters()) {
      std::set<std::int64_t> used;
      for (const Configuration& c : all.configurations) used.insert(c.at(parameter.name));
      CAPTURE(parameter.name);
      CHECK(used == std::set<std::int64_t>(parameter.values.begin(), parameter.values.end()));
    }
    for (const auto& [name, count] : all.rejected) {
      CAPTURE(name);
      CHECK(count > 0);
    }
  }

  TEST_CASE("the space has every tile width with every product of results") {
    std::set<std::pair<std::int64_t, std::int64_t>> found;
    for (const Configuration& c : gemm_tiled().space.enumerate().configurations) {
      const autotune::TileShape shape = gemm_tiled().tile_shape(c);
      found.emplace(shape.tile_width, shape.results());
    }
    for (const std::int64_t results : {1, 2, 4, 8, 16, 32}) {
      CHECK(found.count({8, results}) == 1);
      CHECK(found.count({16, results}) == 1);
      CHECK(found.count({32, results}) == (results < 32 ? 1 : 0));
    }
  }

  TEST_CASE("each constraint names the configuration that breaks it") {
    const auto broken = [](std::string_view changes, const char* constraint) {
      CAPTURE(changes);
      CHECK_THROWS_WITH_AS(static_cast<void>(gemm_tiled().space.validated(changed(changes))),
                           doctest::Contains(constraint), autotune::UsageError);
    };
    CHECK_NOTHROW(static_cast<void>(gemm_tiled().space.validated(changed("TILE_WIDTH=16"))));
    broken("RESULTS_M=16", "results_per_thread");
    broken("RESULTS_M=32,RESULTS_N=1", "tile_side");
    broken("UNROLL=32", "constraint unroll");
    broken("TILE_WIDTH=32,UNROLL=32,RESULTS_M=8", "shared_memory");
    broken("TILE_WIDTH=32,UNROLL=32,RESULTS_M=8,RESULTS_N=2", "registers");
    broken("VECTOR_WIDTH=2", "vector_width");
    broken("RESULTS_M=1,RESULTS_N=2", "vector_width");
    broken("RESULTS_M=1,A_TRANSPOSED=1", "transposed_a");
    broken("PADDING=1", "padding");
    broken("UNROLL=4", "prefetch");
    broken("RESULTS_M=1,RESULTS_N=2,VECTOR_WIDTH=2", "prefetch");
  }

  TEST_CASE("shared bytes are those of the source documents for one result") {
    const auto bytes = [](std::string_view changes) {
      return gemm_tiled().shared_bytes(changed(changes));
    };
    CHECK(bytes("RESULTS_M=1,RESULTS_N=1") == 2 * 1024);
    CHECK(bytes("RESULTS_M=1,RESULTS_N=1,TILE_WIDTH=32") == 8 * 1024);
    CHECK(bytes("RESULTS_M=8,RESULTS_N=4") == (128 + 64) * 16 * 4);
    CHECK(bytes("A_TRANSPOSED=1,PADDING=1") == bytes("A_TRANSPOSED=1") + 16 * 4 * 4);
  }

  TEST_CASE("the grid covers C in one dimension") {
    const auto grid = [](const GemmProblem& problem) {
      return gemm_tiled().geometry(changed("RESULTS_M=8,RESULTS_N=4"), problem).grid;
    };
    CHECK(grid(GemmProblem{.m = 1, .n = 1, .k = 9})[0] == 1);
    CHECK(grid(GemmProblem{.m = 128, .n = 64, .k = 9})[0] == 1);
    CHECK(grid(GemmProblem{.m = 129, .n = 65, .k = 9})[0] == 4);
    // Along y it would end at 65535 blocks.
    CHECK(grid(GemmProblem{.m = 2147483647, .n = 1, .k = 1}) ==
          std::array<std::int64_t, 3>{16777216, 1, 1});
  }

  TEST_CASE("the default is valid for every problem and no larger than it") {
    for (const std::int64_t m : {1, 7, 16, 100, 1024, 5000, 2147483647}) {
      for (const std::int64_t n : {1, 33, 64, 1023, 4096}) {
        for (const std::int64_t k : {1, 8, 1001}) {
          const GemmProblem problem{.m = m, .n = n, .k = k};
          CAPTURE(to_string(problem));
          REQUIRE(gemm_tiled().supports(problem));
          const Configuration c = gemm_tiled().default_configuration(problem);
          CHECK_NOTHROW(static_cast<void>(gemm_tiled().space.validated(c)));
          CHECK(16 * c.at("RESULTS_M") < std::max<std::int64_t>(2 * m, 17));
          CHECK(16 * c.at("RESULTS_N") < std::max<std::int64_t>(2 * n, 17));
        }
      }
    }
    const Configuration large =
        gemm_tiled().default_configuration(GemmProblem{.m = 4096, .n = 4096, .k = 4096});
    CHECK(gemm_tiled().tile_shape(large).results() == 32);
  }
}

TEST_SUITE("KernelTemplate") {
  TEST_CASE("compile options carry every parameter and the problem's traits") {
    const std::vector<std::string> options = autotune::compile_options(
        gemm_tiled(), changed("UNROLL=8"),
        {.macros = {"TRANSPOSE_A=0", "TRANSPOSE_B=1"}, .aligned = true}, "sm_90");
    CHECK(options.front() == "-arch=sm_90");
    for (const char* option : {"-DTILE_WIDTH=16", "-DUNROLL=8", "-DPREFETCH=1", "-DTRANSPOSE_A=0",
                               "-DTRANSPOSE_B=1", "-DALIGNED=0"}) {
      CAPTURE(option);
      CHECK(std::count(options.begin(), options.end(), option) == 1);
    }
  }

  TEST_CASE("templates that know no alignment are compiled for any") {
    const autotune::CodeTraits aligned{.aligned = true};
    for (const char* name : {"gemm_simt", "gemm_tma"}) {
      CHECK(compiled_for(*autotune::built_in_kernels().find(name), aligned).aligned);
    }
    for (const char* name : {"gemm_tiled", "gemm_skinny"}) {
      CHECK_FALSE(compiled_for(*autotune::built_in_kernels().find(name), aligned).aligned);
    }
  }

  TEST_CASE("problems of other elements or another operation are not computed") {
    const auto typed = [](const char* operation, const char* type) {
      return autotune::Problem(operation, {{"m", 64}, {"n", 64}, {"k", 64}},
                               {{"type", type}, {"layout", "NN"}, {"math", "strict"}});
    };
    for (const KernelTemplate& kernel : autotune::built_in_kernels().templates()) {
      CAPTURE(kernel.name);
      const bool for_any_size = kernel.supports(GemmProblem{.m = 64, .n = 64, .k = 64});
      CHECK(computes(kernel, typed("gemm", "f32")) == for_any_size);
      CHECK_FALSE(computes(kernel, typed("gemm", "f64")));
      CHECK_FALSE(computes(kernel, typed("gemm", "bf16-f16")));
      CHECK_FALSE(computes(kernel, typed("gemm", "f32-bf16")));
      CHECK_FALSE(computes(kernel, typed("other", "f32")));
    }
  }

  TEST_CASE("packed operands are aligned where their rows in memory are multiples of 4") {
    const auto aligned = [](std::int64_t m, std::int64_t n, std::int64_t k, const char* layout) {
      GemmProblem problem{.m = m, .n = n, .k = k};
      set_layout(problem, layout);
      return unpadded_traits(*gemm_tiled().operation, problem).aligned;
    };
    CHECK(aligned(5, 4, 8, "NN"));
    CHECK_FALSE(aligned(4, 5, 8, "NN"));
    CHECK_FALSE(aligned(4, 4, 9, "NN"));
    CHECK(aligned(4, 8, 5, "TN"));
    CHECK_FALSE(aligned(5, 8, 4, "TN"));
    CHECK_FALSE(aligned(4, 6, 4, "NT"));
    CHECK_FALSE(aligned(4, 4, 6, "TT"));
  }

  TEST_CASE("in which order blocks take tiles is the launch's matter") {
    const GemmProblem problem{.m = 2048, .n = 2048, .k = 64};
    for (const char* name : {"gemm_simt", "gemm_tma"}) {
      CAPTURE(name);
      const autotune::KernelTemplate& kernel = *autotune::built_in_kernels().find(name);
      Configuration one =
          kernel.default_configuration(GemmProblem{.m = 4096, .n = 4096, .k = 4096});
      Configuration other = one;
      one.set("RASTER", 1);
      other.set("RASTER", 8);
      const auto options = [&](const Configuration& c) {
        return autotune::compile_options(kernel, c, {}, "sm_90");
      };
      CHECK(options(one) == options(other));
      for (const std::string& option : options(one)) CHECK(option.find("RASTER") == option.npos);
      CHECK(kernel.geometry(one, problem).raster == 1);
      CHECK(kernel.geometry(other, problem).raster == 8);
      // More rows of tiles than there are make no difference.
      CHECK(kernel.geometry(other, GemmProblem{.m = 16, .n = 2048, .k = 64}).raster == 1);
      const std::vector<Configuration> alike = with_the_code_of(kernel, one);
      CHECK(std::find(alike.begin(), alike.end(), other) != alike.end());
    }
  }

  TEST_CASE("how many blocks share a tile is the launch's matter") {
    for (const char* name : {"gemm_simt", "gemm_skinny", "gemm_tma"}) {
      CAPTURE(name);
      const autotune::KernelTemplate& kernel = *autotune::built_in_kernels().find(name);
      Configuration configuration =
          kernel.default_configuration(GemmProblem{.m = 8, .n = 4096, .k = 4096});
      const auto options = [&](std::int64_t split_k) {
        configuration.set("SPLIT_K", split_k);
        return autotune::compile_options(kernel, configuration, {}, "sm_90");
      };
      CHECK(options(2) == options(32));
      CHECK(options(1) != options(2));

      configuration.set("SPLIT_K", 1);
      for (const Configuration& one : with_the_code_of(kernel, configuration)) {
        CHECK(one.at("SPLIT_K") == 1);
      }
      configuration.set("SPLIT_K", 4);
      const std::vector<Configuration> alike = with_the_code_of(kernel, configuration);
      CHECK(alike.front() == configuration);
      CHECK(alike.size() >= 5);
      for (const Configuration& one : alike) CHECK(one.at("SPLIT_K") >= 2);
    }
    CHECK(with_the_code_of(gemm_tiled(), changed("UNROLL=8")).size() == 1);
  }

  TEST_CASE("a device rejects what it cannot run") {
    autotune::DeviceInfo device;
    device.compute_major = 5;
    device.sm.threads_per_block = 256;
    device.shared_per_block = 8 * 1024;
    device.sm.shared_per_block = 8 * 1024;
    const auto rejecting = [&](std::string_view changes) {
      std::string names;
      for (const autotune::Constraint& c : device_constraints(gemm_tiled(), device)) {
        if (!c.holds(changed(changes))) names += c.name + " ";
      }
      return names;
    };
    CHECK(rejecting("TILE_WIDTH=16") == "");
    CHECK(rejecting("TILE_WIDTH=32,RESULTS_M=1,RESULTS_N=1") == "device_threads_per_block ");
    CHECK(rejecting("RESULTS_M=8") == "device_shared_per_block ");
    device.compute_major = 4;
    CHECK(rejecting("TILE_WIDTH=16") == "device_compute_capability ");
  }

  TEST_CASE("templates are found by name") {
    CHECK(autotune::built_in_kernels().find("gemm_tiled") != nullptr);
    CHECK(autotune::built_in_kernels().find("gemm") == nullptr);
    CHECK_FALSE(gemm_tiled().source.empty());
  }
}
