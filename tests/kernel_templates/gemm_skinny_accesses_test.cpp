// The addresses that gemm_skinny is said to use against what the comments of gemm_skinny.cu
// promise.
#include <algorithm>
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

const KernelTemplate& gemm_skinny() {
  return *built_in_kernels().find("gemm_skinny");
}

const char* const kConfigurations[] = {
    "FEW_SIDE=0,FEW=1,LINES=4,LANES_K=4,WARPS=1,SLICES=8,UNROLL=8,SPLIT_K=1,KEEP=0",
    "FEW_SIDE=0,FEW=4,LINES=8,LANES_K=1,WARPS=2,SLICES=2,UNROLL=4,SPLIT_K=4,KEEP=0",
    "FEW_SIDE=1,FEW=8,LINES=2,LANES_K=32,WARPS=2,SLICES=4,UNROLL=8,SPLIT_K=1,KEEP=0",
    "FEW_SIDE=1,FEW=2,LINES=1,LANES_K=8,WARPS=1,SLICES=2,UNROLL=16,SPLIT_K=2,KEEP=0"};
const char* const kLayouts[] = {"NN", "NT", "TN", "TT"};

// Each element of the first `depth` of each line once, where `along_k` has them in memory.
WordCounts lines_of(std::int64_t lines, std::int64_t depth, std::int64_t leading, bool along_k) {
  WordCounts words;
  for (std::int64_t line = 0; line < lines; ++line) {
    for (std::int64_t k = 0; k < depth; ++k) {
      words[along_k ? line * leading + k : k * leading + line] = 1;
    }
  }
  return words;
}

WordCounts each_once(WordCounts words) {
  for (auto& [word, count] : words) count = 1;
  return words;
}

TEST_SUITE("gemm_skinny accesses") {
  TEST_CASE("a block loads its first batches and the few lines, and stores C once") {
    for (const char* text : kConfigurations) {
      for (const char* layout : kLayouts) {
        for (const std::int64_t size : {1024, 1023, 30}) {
          const Configuration c = gemm_skinny().space.validated(Configuration::parse(text));
          const bool few_rows = c.at("FEW_SIDE") == 0;
          const std::int64_t few = c.at("FEW");
          GemmProblem problem{.m = few_rows ? few : size, .n = few_rows ? size : few, .k = size};
          set_layout(problem, layout);
          CAPTURE(text);
          CAPTURE(to_string(problem));
          const bool a_along_k = problem.op_a == Transpose::none;
          const bool b_along_k = problem.op_b == Transpose::transposed;
          const bool along_k = few_rows ? b_along_k : a_along_k;
          const std::int64_t batch = c.at("UNROLL") * c.at("LANES_K");
          const std::int64_t batches = (size - 1) / batch + 1;
          const std::int64_t parts = std::min(c.at("SPLIT_K"), batches);
          const std::int64_t part = std::min(((batches - 1) / parts + 1) * batch, size);
          const std::int64_t lines =
              std::min(size, c.at("WARPS") * c.at("LINES") * (32 / c.at("LANES_K")));
          auto words = words_by_name(gemm_skinny(), c, problem);
          const std::int64_t depth = std::min(part, batch * c.at("SLICES"));
          // Lanes beyond the matrix read its last line again.
          CHECK(each_once(words[few_rows ? "load B" : "load A"]) ==
                lines_of(lines, depth, few_rows ? problem.ldb() : problem.lda(), along_k));
          CHECK(words[few_rows ? "load A" : "load B"] ==
                lines_of(few, part, few_rows ? problem.lda() : problem.ldb(),
                         few_rows ? a_along_k : b_along_k));
          CHECK(words["store C"] == lines_of(few, lines, problem.ldc(), few_rows));
          const WordCounts& stored = words[few_rows ? "store tile of A" : "store tile of B"];
          CHECK(all_once(stored));
          for (const auto& [word, count] : words[few_rows ? "read tile of A" : "read tile of B"]) {
            REQUIRE(stored.contains(word));
          }
        }
      }
    }
  }

  TEST_CASE("the large operand is read in whole sectors, the few lines without conflicts") {
    const Configuration c = gemm_skinny().space.validated(Configuration::parse(kConfigurations[0]));
    for (const char* layout : kLayouts) {
      GemmProblem problem{.m = 1, .n = 4096, .k = 4096};
      set_layout(problem, layout);
      for (const AccessSummary& access : summarize_accesses(gemm_skinny(), c, problem)) {
        CAPTURE(layout);
        CAPTURE(access.name);
        if (access.name != "load A") CHECK(access.transactions == access.least);
      }
    }
  }
}

}  // namespace
}  // namespace autotune
