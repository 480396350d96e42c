#include <set>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "autotune/error.hpp"
#include "autotune/problem.hpp"

#include "operation/gemm/gemm.hpp"
#include "operation/problem_json.hpp"

using autotune::GemmProblem;
using autotune::Problem;
using autotune::Transpose;

TEST_SUITE("GemmProblem") {
  TEST_CASE("text names the layout only where an operand is transposed") {
    GemmProblem problem{.m = 1024, .n = 512, .k = 2048};
    CHECK(to_string(problem) == "1024x512x2048");
    problem.op_b = Transpose::transposed;
    CHECK(to_string(problem) == "1024x512x2048 NT");
  }

  TEST_CASE("a batch is a part of the key, and a product alone has the key that it always had") {
    GemmProblem gemm{.m = 3, .n = 4, .k = 5};
    CHECK(Problem(gemm).key() == "gemm m=3 n=4 k=5 type=f32 layout=NN math=strict");
    gemm.batch = 64;
    const Problem batch = gemm;
    CHECK(batch.key() == "gemm m=3 n=4 k=5 batch=64 type=f32 layout=NN math=strict");
    CHECK(autotune::gemm_problem(batch) == gemm);
    CHECK(to_string(gemm) == "3x4x5 batch 64");
    CHECK(gemm != GemmProblem{.m = 3, .n = 4, .k = 5});
    gemm.order = autotune::Order::column_major;
    CHECK(gemm.row_major().batch == 64);
    CHECK(gemm.operations() == 2 * 3 * 4 * 5 * 64);
    CHECK_THROWS_AS(static_cast<void>(autotune::gemm_problem(
                        Problem::parse("gemm m=3 n=4 k=5 batch=0 type=f32 layout=NN math=strict"))),
                    autotune::Error);
  }

  TEST_CASE("a key is a product's only with its sizes and traits, in their order") {
    const auto& operation = autotune::gemm_operation();
    const auto has = [&](const std::string& sizes, const std::string& traits) {
      const Problem problem = Problem::parse("gemm " + sizes + " " + traits);
      const bool is_gemm = operation.has(problem);
      CHECK(autotune::if_gemm(problem).has_value() == is_gemm);
      return is_gemm;
    };
    const std::string traits = "type=f32 layout=NN math=strict";
    CHECK(has("m=3 n=4 k=5", traits));
    CHECK(has("m=3 n=4 k=5 batch=2", "type=f16 layout=TT math=tf32"));
    CHECK(has("m=2147483647 n=2147483647 k=2147483647", traits));
    CHECK_FALSE(has("m=3", traits));
    CHECK_FALSE(has("x=3 y=4 z=5", traits));
    CHECK_FALSE(has("n=4 m=3 k=5", traits));
    CHECK_FALSE(has("m=3 n=4 k=5 groups=2", traits));
    CHECK_FALSE(has("m=3 n=4 k=5 batch=2 groups=2", traits));
    CHECK_FALSE(has("m=-1 n=4 k=5", traits));
    CHECK_FALSE(has("m=3 n=4 k=0", traits));
    CHECK_FALSE(has("m=2147483648 n=4 k=5", traits));
    CHECK_FALSE(has("m=9223372036854775807 n=9223372036854775807 k=1", traits));
    CHECK_FALSE(has("m=65536 n=65536 k=65536 batch=1073741825", traits));
    CHECK_FALSE(has("m=3 n=4 k=5", "type=f32 layout=NN math=fp8"));
    CHECK_FALSE(has("m=3 n=4 k=5", "type=fp4 layout=NN math=strict"));
    CHECK_FALSE(has("m=3 n=4 k=5", "type=f32 layout=NX math=strict"));
    CHECK_FALSE(has("m=3 n=4 k=5", "type=f32 layout=NN"));
    CHECK_FALSE(has("m=3 n=4 k=5", traits + " epilogue=relu"));
    CHECK_THROWS_AS(static_cast<void>(gemm_problem(
                        Problem::parse("gemm m=3 n=4 k=5 batch=2 groups=2 " + traits))),
                    autotune::Error);
    CHECK_FALSE(operation.has(Problem::parse("copy m=3 n=4 k=5 " + traits)));
    CHECK_FALSE(operation.has(Problem()));
  }

  TEST_CASE("a batch comes back from JSON, and is not in that of a product alone") {
    const GemmProblem gemm{.m = 3, .n = 4, .k = 5, .batch = 64};
    const nlohmann::json json = autotune::exported_problem(gemm);
    CHECK(json.at("batch") == 64);
    CHECK(autotune::problem_from_export(json) == Problem(gemm));
    CHECK_FALSE(autotune::exported_problem(GemmProblem{.m = 3, .n = 4, .k = 5}).contains("batch"));
    CHECK_THROWS_AS(static_cast<void>(autotune::problem_from_export(
                        {{"m", 3}, {"n", 4}, {"k", 5}, {"batch", 0}})),
                    autotune::Error);
  }

  TEST_CASE("every problem comes back from its key, of every type, layout, order, math and batch") {
    using autotune::ElementType;
    constexpr ElementType kTypes[] = {ElementType::f32, ElementType::f64, ElementType::bf16,
                                      ElementType::f16};
    std::set<std::string> keys;
    std::size_t problems = 0;
    const auto check = [&](const GemmProblem& gemm) {
      const Problem problem = gemm;
      CHECK(autotune::gemm_problem(problem) == gemm.row_major());
      CHECK(autotune::gemm_problem(Problem::parse(problem.key())) == gemm.row_major());
      CHECK(autotune::problem_from_export(autotune::exported_problem(problem)) == problem);
      keys.insert(problem.key());
      ++problems;
    };
    for (int types = 0; types < 4 * 4 * 4 * 4; ++types) {
      for (int rest = 0; rest < 2 * 2 * 3 * 2; ++rest) {
        GemmProblem gemm{.m = 3, .n = 4, .k = 5};
        gemm.types = {kTypes[types % 4], kTypes[types / 4 % 4], kTypes[types / 16 % 4],
                      kTypes[types / 64]};
        gemm.op_a = static_cast<Transpose>(rest % 2);
        gemm.op_b = static_cast<Transpose>(rest / 2 % 2);
        gemm.math = static_cast<autotune::Math>(rest / 4 % 3);
        gemm.batch = rest / 12 == 0 ? 1 : 7;
        check(gemm);
      }
    }
    CHECK(keys.size() == problems);
    GemmProblem columns{.m = 3, .n = 4, .k = 5, .op_a = Transpose::transposed};
    columns.order = autotune::Order::column_major;
    columns.types = {ElementType::bf16, ElementType::f16, ElementType::f32, ElementType::f32};
    check(columns);
    CHECK(autotune::gemm_problem(columns).types.a == ElementType::f16);
  }

  TEST_CASE("types are told by a word, and the usual ones by a short word") {
    const auto text_of = [](const char* text) {
      return to_string(autotune::types_from_string(text));
    };
    for (const char* text : {"f32", "f64", "bf16", "bf16-f32", "f16-bf16", "bf16-f16-f32-f32",
                             "f16-f16-f16-f16", "f32-f32-f32-f64"}) {
      CHECK(text_of(text) == text);
    }
    CHECK(autotune::types_from_string("bf16-f32") ==
          autotune::GemmTypes{autotune::ElementType::bf16, autotune::ElementType::bf16,
                              autotune::ElementType::f32, autotune::ElementType::f32});
    for (const char* text : {"", "f8", "f32-", "-f32", "f32-f32", "f32-f32-f32", "f32-f32-f32-f32",
                             "bf16-bf16-f32-f32", "F32"}) {
      CHECK_THROWS_AS(text_of(text), autotune::UsageError);
    }
    CHECK(to_string(GemmProblem{
              .m = 1, .n = 2, .k = 3, .types = autotune::types_from_string("bf16-f32")}) ==
          "1x2x3 bf16-f32");
  }

  TEST_CASE("a key with more than a product has is refused") {
    for (const char* key : {"gemm m=3 n=4 k=5 batch=1 type=f32 layout=NN math=strict",
                            "gemm m=3 n=4 k=5 batch=2 groups=2 type=f32 layout=NN math=strict",
                            "gemm m=3 n=4 k=5 type=f32 layout=NN math=strict bias=yes",
                            "gemm m=3 n=4 k=5 type=f8 layout=NN math=strict",
                            "gemm m=3 n=4 type=f32 layout=NN math=strict"}) {
      CHECK_THROWS_AS(static_cast<void>(autotune::gemm_problem(Problem::parse(key))),
                      autotune::Error);
    }
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
