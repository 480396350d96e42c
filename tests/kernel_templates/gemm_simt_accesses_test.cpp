// The addresses that gemm_simt is said to use against what the comments of gemm_simt.cu promise.
#include <string>

#include <doctest/doctest.h>

#include "autotune/problem.hpp"

#include "block_words.hpp"
#include "kernel_templates/analysis.hpp"
#include "kernel_templates/kernel_registry.hpp"

namespace autotune {
namespace {

using test::all_once;
using test::WordCounts;
using test::words_by_name;

const KernelTemplate& gemm_simt() {
  return *built_in_kernels().find("gemm_simt");
}

const char* const kConfigurations[] = {
    "THREAD_M=8,THREAD_N=8,LANES_M=4,WARPS_M=2,WARPS_N=2,SLICES=1,BLOCK_K=16,BY_LINE=0,UNROLL=16,"
    "STAGES=3,DOUBLE_BUFFER=1,MIN_BLOCKS=3,SPLIT_K=1,CLUSTER=1,ORDER=0,REGISTER_LEVEL=5,RASTER=8,"
    "EXCHANGE=0",
    "THREAD_M=4,THREAD_N=4,LANES_M=4,WARPS_M=2,WARPS_N=1,SLICES=4,BLOCK_K=32,BY_LINE=1,UNROLL=8,"
    "STAGES=3,DOUBLE_BUFFER=1,MIN_BLOCKS=2,SPLIT_K=1,CLUSTER=1,ORDER=0,REGISTER_LEVEL=5,RASTER=8,"
    "EXCHANGE=0",
    "THREAD_M=8,THREAD_N=4,LANES_M=4,WARPS_M=1,WARPS_N=1,SLICES=8,BLOCK_K=64,BY_LINE=1,UNROLL=8,"
    "STAGES=2,DOUBLE_BUFFER=1,MIN_BLOCKS=2,SPLIT_K=4,CLUSTER=1,ORDER=0,REGISTER_LEVEL=5,RASTER=1,"
    "EXCHANGE=0",
    "THREAD_M=8,THREAD_N=8,LANES_M=8,WARPS_M=1,WARPS_N=2,SLICES=2,BLOCK_K=16,BY_LINE=0,UNROLL=8,"
    "STAGES=3,DOUBLE_BUFFER=1,MIN_BLOCKS=3,SPLIT_K=1,CLUSTER=1,ORDER=0,REGISTER_LEVEL=5,RASTER=8,"
    "EXCHANGE=1"};
const char* const kLayouts[] = {"NN", "NT", "TN", "TT"};

// Each word of rows x columns elements once, the rows `leading` apart.
WordCounts rectangle(std::int64_t rows, std::int64_t columns, std::int64_t leading) {
  WordCounts words;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) words[row * leading + column] = 1;
  }
  return words;
}

TEST_SUITE("gemm_simt accesses") {
  TEST_CASE("a phase copies each element of the tile once, and C is stored once") {
    for (const char* text : kConfigurations) {
      for (const char* layout : kLayouts) {
        for (const std::int64_t size : {512, 511, 24, 9}) {
          const Configuration c = gemm_simt().space.validated(Configuration::parse(text));
          GemmProblem problem{.m = size, .n = size, .k = size};
          set_layout(problem, layout);
          CAPTURE(text);
          CAPTURE(to_string(problem));
          const TileShape tile = gemm_simt().tile_shape(c);
          const std::int64_t rows = std::min(tile.block_m, problem.m);
          const std::int64_t columns = std::min(tile.block_n, problem.n);
          const std::int64_t depth = std::min(tile.block_k, problem.k);
          auto words = words_by_name(gemm_simt(), c, problem);
          CHECK(words["load A"] == (problem.op_a == Transpose::none
                                        ? rectangle(rows, depth, problem.lda())
                                        : rectangle(depth, rows, problem.lda())));
          CHECK(words["load B"] == (problem.op_b == Transpose::none
                                        ? rectangle(depth, columns, problem.ldb())
                                        : rectangle(columns, depth, problem.ldb())));
          CHECK(words["store C"] == rectangle(rows, columns, problem.ldc()));
          CHECK(all_once(words["store tile of A"]));
          CHECK(all_once(words["store tile of B"]));
          CHECK(words["store tile of A"].size() ==
                static_cast<std::size_t>(tile.block_m * tile.block_k));
        }
      }
    }
  }

  TEST_CASE("a block reads what it has copied, and of each slice's part one turn") {
    for (const char* text : kConfigurations) {
      for (const char* layout : kLayouts) {
        const Configuration c = gemm_simt().space.validated(Configuration::parse(text));
        GemmProblem problem{.m = 512, .n = 512, .k = 512};
        set_layout(problem, layout);
        CAPTURE(text);
        CAPTURE(layout);
        auto words = words_by_name(gemm_simt(), c, problem);
        for (const std::string operand : {"A", "B"}) {
          const WordCounts& stored = words["store tile of " + operand];
          std::size_t known = 0;
          for (const auto& [word, count] : words["read tile of " + operand]) {
            known += stored.count(word);
          }
          CHECK(known == words["read tile of " + operand].size());
          // A turn takes the whole of a slice's part here, so all of the phase is read.
          CHECK(known == stored.size());
        }
      }
    }
  }

  TEST_CASE("copies that transpose and reads of fragments have no bank conflicts") {
    for (const char* layout : kLayouts) {
      const Configuration c = gemm_simt().space.validated(Configuration::parse(kConfigurations[0]));
      GemmProblem problem{.m = 512, .n = 512, .k = 512};
      set_layout(problem, layout);
      for (const AccessSummary& access : summarize_accesses(gemm_simt(), c, problem)) {
        CAPTURE(access.name);
        CAPTURE(layout);
        if (access.space == MemorySpace::shared) CHECK(access.transactions == access.least);
      }
    }
  }
}

}  // namespace
}  // namespace autotune
