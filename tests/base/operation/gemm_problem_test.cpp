#include <doctest/doctest.h>

#include "autotune/error.hpp"
#include "autotune/problem.hpp"

using autotune::GemmProblem;
using autotune::Transpose;

TEST_SUITE("GemmProblem") {
  TEST_CASE("text names the layout only where an operand is transposed") {
    GemmProblem problem{.m = 1024, .n = 512, .k = 2048};
    CHECK(to_string(problem) == "1024x512x2048");
    problem.op_b = Transpose::transposed;
    CHECK(to_string(problem) == "1024x512x2048 NT");
  }

  TEST_CASE("layout text survives the way there and back") {
    for (const std::string layout : {"NN", "NT", "TN", "TT"}) {
      GemmProblem problem{.m = 1, .n = 1, .k = 1};
      set_layout(problem, layout);
      CHECK(layout_text(problem) == layout);
    }
  }

  TEST_CASE("unknown layouts and math modes are refused") {
    GemmProblem problem{.m = 1, .n = 1, .k = 1};
    for (const std::string layout : {"", "N", "NNN", "nn", "NC"}) {
      CHECK_THROWS_AS(set_layout(problem, layout), autotune::UsageError);
    }
    CHECK(layout_text(problem) == "NN");
    CHECK(autotune::math_from_string("strict") == autotune::Math::strict);
    CHECK_THROWS_AS(static_cast<void>(autotune::math_from_string("fast")), autotune::UsageError);
  }

  TEST_CASE("leading dimensions are the row lengths in memory") {
    GemmProblem problem{.m = 2, .n = 3, .k = 5};
    CHECK(problem.lda() == 5);
    CHECK(problem.ldb() == 3);
    CHECK(problem.ldc() == 3);
    set_layout(problem, "TT");
    CHECK(problem.lda() == 2);
    CHECK(problem.ldb() == 5);
    CHECK(problem.ldc() == 3);
  }

  TEST_CASE("operations do not overflow at the largest sizes") {
    const GemmProblem problem{.m = 2147483647, .n = 2147483647, .k = 2147483647};
    CHECK(problem.operations() == doctest::Approx(2 * 9.903520300447984e27));
  }
}
