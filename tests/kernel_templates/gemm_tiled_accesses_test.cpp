// The addresses that gemm_tiled is said to use against what the comments of gemm_tiled.cu promise,
// worked out here element by element.
#include <algorithm>
#include <map>
#include <set>

#include <doctest/doctest.h>

#include "autotune/problem.hpp"

#include "block_words.hpp"
#include "kernel_templates/analysis.hpp"
#include "kernel_templates/kernel_registry.hpp"

namespace autotune {
namespace {

const KernelTemplate& gemm_tiled() {
  return *built_in_kernels().find("gemm_tiled");
}

Configuration configuration_of(std::int64_t tile_width, std::int64_t results_m,
                               std::int64_t results_n, std::int64_t a_transposed,
                               std::int64_t padding, std::int64_t vector_width) {
  return gemm_tiled().space.validated(Configuration({{"TILE_WIDTH", tile_width},
                                                     {"RESULTS_M", results_m},
                                                     {"RESULTS_N", results_n},
                                                     {"UNROLL", tile_width},
                                                     {"A_TRANSPOSED", a_transposed},
                                                     {"PADDING", padding},
                                                     {"VECTOR_WIDTH", vector_width},
                                                     {"PREFETCH", 0}}));
}

GemmProblem problem_of(std::int64_t m, std::int64_t n, std::int64_t k, const char* layout = "NN") {
  GemmProblem problem{.m = m, .n = n, .k = k};
  set_layout(problem, layout);
  return problem;
}

AccessSummary summary(const Configuration& configuration, const GemmProblem& problem,
                      const std::string& name) {
  for (const AccessSummary& access : summarize_accesses(gemm_tiled(), configuration, problem)) {
    if (access.name == name) return access;
  }
  FAIL("no access is named ", name);
  return {};
}

using test::all_once;
using test::words_by_name;
using Words = std::set<std::int64_t>;

Words keys(const std::map<std::int64_t, int>& counts) {
  Words words;
  for (const auto& [word, count] : counts) words.insert(word);
  return words;
}

// The words of a tile in shared memory. `pitch` from one k to the next when it is not by rows.
struct TileWords {
  std::int64_t width, results;
  bool by_row;
  std::int64_t pitch;

  std::int64_t word(std::int64_t line, std::int64_t k) const {
    if (by_row) return line * width + k;
    const std::int64_t thread = line % width;  // that multiplies it, as its result number `result`
    const std::int64_t result = line / width;
    const std::int64_t together = std::min<std::int64_t>(results, 4);
    return k * pitch + result / together * width * together + thread * together + result % together;
  }
  Words all(std::int64_t steps) const {
    Words words;
    for (std::int64_t line = 0; line < width * results; ++line) {
      for (std::int64_t k = 0; k < steps; ++k) words.insert(word(line, k));
    }
    return words;
  }
};

TileWords tile_of_a(const Configuration& c, const GemmProblem& problem) {
  const std::int64_t width = c.at("TILE_WIDTH"), results = c.at("RESULTS_M");
  const bool padded = c.at("PADDING") == 1 && problem.op_a == Transpose::none;
  const std::int64_t space = std::max(32 / width, std::min<std::int64_t>(results, 4));
  return {width, results, c.at("A_TRANSPOSED") == 0, width * results + (padded ? space : 0)};
}

TileWords tile_of_b(const Configuration& c, const GemmProblem& problem) {
  const std::int64_t width = c.at("TILE_WIDTH"), results = c.at("RESULTS_N");
  const bool padded = problem.op_b == Transpose::transposed;
  const std::int64_t space = std::max(32 / width, std::min<std::int64_t>(results, 4));
  return {width, results, false, width * results + (padded ? space : 0)};
}

// The elements of a block's tile in a matrix whose rows run along the lines or along k.
Words matrix_words(std::int64_t lines, std::int64_t steps, bool along_k, std::int64_t leading) {
  Words words;
  for (std::int64_t line = 0; line < lines; ++line) {
    for (std::int64_t k = 0; k < steps; ++k) {
      words.insert(along_k ? line * leading + k : k * leading + line);
    }
  }
  return words;
}

TEST_SUITE("accesses of gemm_tiled") {
  TEST_CASE("a block touches each element of its tiles, and no other, once") {
    const auto all = gemm_tiled().space.enumerate().configurations;
    for (std::size_t i = 0; i < all.size(); i += 37) {
      const Configuration& c = all[i];
      const char* layouts[] = {"NN", "NT", "TN", "TT"};
      const GemmProblem problem = problem_of(512, 768, 256, layouts[i % 4]);
      CAPTURE(to_string(c));
      CAPTURE(to_string(problem));
      const std::int64_t width = c.at("TILE_WIDTH");
      const std::int64_t rows = width * c.at("RESULTS_M"), columns = width * c.at("RESULTS_N");
      const bool plain_a = problem.op_a == Transpose::none;
      const bool plain_b = problem.op_b == Transpose::none;
      auto words = words_by_name(gemm_tiled(), c, problem);

      CHECK(keys(words["load A"]) == matrix_words(rows, width, plain_a, problem.lda()));
      CHECK(keys(words["load B"]) == matrix_words(columns, width, !plain_b, problem.ldb()));
      CHECK(keys(words["store tile of A"]) == tile_of_a(c, problem).all(width));
      CHECK(keys(words["store tile of B"]) == tile_of_b(c, problem).all(width));
      CHECK(keys(words["read tile of A"]) == tile_of_a(c, problem).all(c.at("UNROLL")));
      CHECK(keys(words["read tile of B"]) == tile_of_b(c, problem).all(c.at("UNROLL")));
      CHECK(keys(words["store C"]) == matrix_words(rows, columns, true, problem.ldc()));
      for (const char* once :
           {"load A", "load B", "store tile of A", "store tile of B", "store C"}) {
        CHECK(all_once(words[once]));
      }
    }
  }

  TEST_CASE("a lane reads what its thread multiplies") {
    const GemmProblem problem = problem_of(512, 512, 512);
    for (const Configuration& c :
         {configuration_of(16, 8, 4, 1, 1, 1), configuration_of(16, 4, 2, 0, 0, 4),
          configuration_of(8, 2, 8, 1, 0, 4), configuration_of(32, 2, 2, 1, 1, 2)}) {
      const std::int64_t width = c.at("TILE_WIDTH");
      const TileWords a = tile_of_a(c, problem), b = tile_of_b(c, problem);
      const std::int64_t lane = 21, warp = 1, thread = 32 * warp + lane;
      Words expected_a, expected_b, read_a, read_b;
      for (std::int64_t k = 0; k < width; ++k) {
        for (std::int64_t i = 0; i < c.at("RESULTS_M"); ++i) {
          expected_a.insert(a.word(thread / width + i * width, k));
        }
        for (std::int64_t j = 0; j < c.at("RESULTS_N"); ++j) {
          expected_b.insert(b.word(thread % width + j * width, k));
        }
      }
      for (const WarpAccess& access : gemm_tiled().warp_accesses(c, problem, warp)) {
        for (std::int64_t e = 0; e < access.bytes_per_lane / 4; ++e) {
          const std::int64_t word = access.offsets[lane] / 4 + e;
          if (access.name == "read tile of A") read_a.insert(word);
          if (access.name == "read tile of B") read_b.insert(word);
        }
      }
      CHECK(read_a == expected_a);
      CHECK(read_b == expected_b);
    }
  }

  TEST_CASE("padding removes the conflicts of a tile that is transposed on the way") {
    const GemmProblem problem = problem_of(512, 512, 512);
    for (const std::int64_t width : {8, 16, 32}) {
      CAPTURE(width);
      const auto store = [&](std::int64_t padding) {
        return summary(configuration_of(width, 2, 2, 1, padding, 1), problem, "store tile of A");
      };
      CHECK(store(1).transactions == store(1).least);
      CHECK(store(0).transactions > store(0).least);
      // Rows of K elements are written with a stride of the tile's 2 * width rows.
      CHECK(store(0).bytes_per_lane == 8);
    }
    const Configuration plain = configuration_of(16, 1, 1, 0, 0, 1);
    for (const char* name :
         {"store tile of A", "store tile of B", "read tile of A", "read tile of B"}) {
      CAPTURE(name);
      const AccessSummary access = summary(plain, problem, name);
      CHECK(access.transactions == access.least);
    }
  }

  TEST_CASE("rows that are not aligned cost sectors and wide loads") {
    const Configuration c = configuration_of(16, 4, 4, 0, 0, 4);
    const AccessSummary aligned = summary(c, problem_of(512, 512, 512), "load A");
    CHECK(aligned.bytes_per_lane == 16);
    CHECK(aligned.transactions == 16);
    CHECK(aligned.least == 16);
    const AccessSummary unaligned = summary(c, problem_of(512, 512, 513), "load A");
    CHECK(unaligned.bytes_per_lane == 4);
    CHECK(unaligned.transactions > unaligned.least);

    // One row of 32 elements a warp: 4 sectors at a multiple of 8, else 5.
    const Configuration rows = configuration_of(32, 1, 1, 0, 0, 1);
    CHECK(summary(rows, problem_of(512, 512, 512), "load B").transactions == 4);
    CHECK(summary(rows, problem_of(512, 513, 512), "load B").transactions == 4.875);
    CHECK(summary(rows, problem_of(512, 513, 512), "store C").transactions == 4.875);
  }

  TEST_CASE("nothing outside a matrix smaller than a tile") {
    const Configuration c = configuration_of(16, 4, 4, 0, 0, 4);
    for (const char* layout : {"NN", "NT", "TN", "TT"}) {
      const GemmProblem problem = problem_of(5, 7, 3, layout);
      auto words = words_by_name(gemm_tiled(), c, problem);
      CHECK(*keys(words["load A"]).rbegin() < 5 * 3);
      CHECK(*keys(words["load B"]).rbegin() < 3 * 7);
      CHECK(keys(words["store C"]).size() == 5 * 7);
      CHECK(*keys(words["store C"]).rbegin() == 5 * 7 - 1);
    }
  }
}

}  // namespace
}  // namespace autotune
