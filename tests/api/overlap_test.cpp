// C that overlaps an operand is refused, and no other is.
#include "api/overlap.hpp"

#include <algorithm>
#include <limits>
#include <random>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "autotune/error.hpp"

#include "api/gemm_call.hpp"

namespace autotune::test {
namespace {

// Addresses that nothing is read from.
float* element(std::int64_t number) {
  return reinterpret_cast<float*>((std::uintptr_t{1} << 40) +
                                  4 * static_cast<std::uintptr_t>(number));
}

struct Placed {
  std::int64_t first, lines, length, ld, matrices, stride;

  [[nodiscard]] std::set<std::int64_t> elements() const {
    std::set<std::int64_t> all;
    for (std::int64_t i = 0; i < matrices; ++i) {
      for (std::int64_t line = 0; line < lines; ++line) {
        for (std::int64_t j = 0; j < length; ++j) all.insert(first + i * stride + line * ld + j);
      }
    }
    return all;
  }
};

bool share(const Placed& a, const Placed& b) {
  const std::set<std::int64_t> of_a = a.elements();
  const std::set<std::int64_t> of_b = b.elements();
  return std::any_of(of_a.begin(), of_a.end(), [&](std::int64_t e) { return of_b.contains(e); });
}

// Returns what is said of a call; "" when it is right.
std::string said_of(const GemmProblem& problem, const Placed& a, const Placed& b, const Placed& c) {
  try {
    static_cast<void>(checked_call(problem, {1,
                                             {element(a.first), a.ld, a.stride},
                                             {element(b.first), b.ld, b.stride},
                                             0,
                                             {element(c.first), c.ld, c.stride},
                                             nullptr}));
    return "";
  } catch (const UsageError& error) {
    return error.what();
  }
}

TEST_SUITE("overlapping matrices") {
  TEST_CASE("whatever windows of memory the matrices are, exactly those that overlap are refused") {
    std::mt19937 random(1);
    const auto upto = [&](std::int64_t most) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most + 1));
    };
    int refused = 0, right = 0;
    for (int i = 0; i < 60'000; ++i) {
      GemmProblem problem{.m = 1 + upto(3), .n = 1 + upto(3), .k = 1 + upto(3)};
      problem.op_a = static_cast<Transpose>(upto(1));
      problem.op_b = static_cast<Transpose>(upto(1));
      problem.order = static_cast<Order>(upto(1));
      problem.batch = 1 + std::max<std::int64_t>(0, upto(6) - 3);
      const std::int64_t shared_ld = 4 + upto(8);
      const std::int64_t shared_stride = upto(40);
      const auto placed = [&](std::int64_t least, std::int64_t elements) {
        const std::int64_t ld = upto(2) == 0 ? shared_ld : least + upto(5);
        const std::int64_t stride = upto(2) == 0 ? shared_stride : upto(40);
        return Placed{upto(60), elements / least, least, std::max(ld, least), problem.batch,
                      stride};
      };
      const Placed a = placed(problem.lda(), problem.m * problem.k);
      const Placed b = placed(problem.ldb(), problem.k * problem.n);
      const Placed c = placed(problem.ldc(), problem.m * problem.n);
      const std::string said = said_of(problem, a, b, c);
      if (said.find("matrices of C") != std::string::npos) continue;
      const std::string expected = share(a, c) ? "C overlaps A" : share(b, c) ? "C overlaps B" : "";
      if (said != expected) {
        CAPTURE(to_string(problem));
        REQUIRE(said == expected);
      }
      ++(said.empty() ? right : refused);
    }
    CHECK(right > 5000);
    CHECK(refused > 5000);
  }

  TEST_CASE("halves of one matrix's columns are apart, and windows that cross are not") {
    const GemmProblem problem{.m = 1000, .n = 500, .k = 500};
    const Placed elsewhere{10'000'000, 500, 500, 500, 1, 0};
    const auto window = [](std::int64_t row, std::int64_t column) {
      return Placed{row * 1001 + column, 1000, 500, 1001, 1, 0};
    };
    CHECK(said_of(problem, window(0, 0), elsewhere, window(0, 500)).empty());
    CHECK(said_of(problem, window(0, 501), elsewhere, window(0, 0)).empty());
    CHECK(said_of(problem, window(0, 250), elsewhere, window(500, 0)) == "C overlaps A");
    CHECK(said_of(problem, window(500, 0), elsewhere, window(0, 250)) == "C overlaps A");
  }

  TEST_CASE(
      "a batch whose operands and results lie side by side, as those of attention, is right") {
    const GemmProblem problem{.m = 512, .n = 64, .k = 64, .batch = 16};
    const std::int64_t ld = 3 * 16 * 64;
    const Placed weights{1 << 26, 64, 64, 64, 16, 0};
    const auto part = [&](std::int64_t number) {
      return Placed{number * 16 * 64, 512, 64, ld, 16, 64};
    };
    CHECK(said_of(problem, part(0), weights, part(2)).empty());
    CHECK(said_of(problem, part(1), weights, part(0)).empty());
    CHECK(said_of(problem, part(1), weights, part(1)) == "C overlaps A");
  }

  TEST_CASE("a matrix is within what addresses can say") {
    const GemmProblem problem{.m = 4, .n = 4, .k = 4};
    const auto with_lda = [&](std::int64_t lda) {
      return said_of(problem, {0, 4, 4, lda, 1, 0}, {100, 4, 4, 4, 1, 0}, {200, 4, 4, 4, 1, 0});
    };
    CHECK(with_lda(std::int64_t{1} << 57).empty());
    CHECK(with_lda(std::numeric_limits<std::int64_t>::max()) ==
          "lda is 9223372036854775807: it must be at most 144115188075855872 for 4 rows");
    const GemmProblem huge{.m = 2147483647, .n = 2147483647, .k = 1};
    CHECK(said_of(huge, {0, 1, 1, 1, 1, 0}, {10, 1, 1, 0, 1, 0}, {20, 1, 1, 0, 1, 0}) ==
          "ldc is 2147483647: it must be at most 268435456 for 2147483647 rows");
  }

  TEST_CASE("what would take long to find counts as an overlap") {
    const std::int64_t odd = 1'000'003;
    const ElementRuns first{1, {{{2'000'000'000, 30}, {30'000'000, odd}}}};
    const ElementRuns second{1, {{{2'000'000'000, 42}, {30'000'000, 6 * odd}}}};
    CHECK(may_overlap(first, second, 1));
  }
}

}  // namespace
}  // namespace autotune::test
