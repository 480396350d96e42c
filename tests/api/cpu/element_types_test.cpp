// Products of BF16 and FP16 by the C++ and the C API, compared with sums of the host bit for bit.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "autotune/autotune.h"
#include "autotune/autotune.hpp"

#include "core/element_type.hpp"
#include "tests/api/c_caller.hpp"
#include "tests/api/cpu/small_problems.hpp"
#include "tests/api/temporary_storage.hpp"

namespace autotune::test {
namespace {

// The matrices of a batch in one order, with lines that are an odd number of elements apart.
struct Matrices {
  ElementType type;
  bool by_rows;
  std::int64_t ld;
  std::int64_t stride;
  std::vector<std::byte> memory;

  Matrices(ElementType of, Order order, std::int64_t rows, std::int64_t columns, std::int64_t batch)
      : type(of),
        by_rows(order == Order::row_major),
        ld(((by_rows ? columns : rows) + 1) | 1),
        stride((by_rows ? rows : columns) * ld + 5),
        memory(static_cast<std::size_t>(batch * stride * size_bytes(of))) {}

  // Whole numbers that all types have.
  void fill(std::int64_t seed) {
    const auto count = static_cast<std::int64_t>(memory.size()) / size_bytes(type);
    for (std::int64_t i = 0; i < count; ++i) {
      store_element(type, at(i), static_cast<double>((7 * i + seed) % 23 - 8));
    }
  }

  void* at(std::int64_t index) {
    return memory.data() + static_cast<std::size_t>(index * size_bytes(type));
  }
  void* at(std::int64_t matrix, std::int64_t row, std::int64_t column) {
    return at(matrix * stride + (by_rows ? row * ld + column : column * ld + row));
  }
  double value(std::int64_t matrix, std::int64_t row, std::int64_t column) {
    return load_element(type, at(matrix, row, column));
  }
};

// A product with sums that C's 16 bits do not hold, and what must come out of it.
struct TypedProduct {
  GemmProblem problem;
  float alpha;
  float beta;
  Matrices a, b, c, expected;

  TypedProduct(const GemmProblem& which, float alpha_, float beta_)
      : problem(which),
        alpha(alpha_),
        beta(beta_),
        a(which.types.a, which.order, a_is_plain() ? which.m : which.k,
          a_is_plain() ? which.k : which.m, which.batch),
        b(which.types.b, which.order, b_is_plain() ? which.k : which.n,
          b_is_plain() ? which.n : which.k, which.batch),
        c(which.types.c, which.order, which.m, which.n, which.batch),
        expected(c) {
    a.fill(1);
    b.fill(2);
    c.fill(3);
    expected = c;
    for (std::int64_t matrix = 0; matrix < problem.batch; ++matrix) {
      for (std::int64_t row = 0; row < problem.m; ++row) {
        for (std::int64_t column = 0; column < problem.n; ++column) {
          compute(matrix, row, column);
        }
      }
    }
  }

  [[nodiscard]] bool a_is_plain() const { return problem.op_a == Transpose::none; }
  [[nodiscard]] bool b_is_plain() const { return problem.op_b == Transpose::none; }

  void compute(std::int64_t matrix, std::int64_t row, std::int64_t column) {
    double sum = 0;
    for (std::int64_t i = 0; i < problem.k; ++i) {
      sum += (a_is_plain() ? a.value(matrix, row, i) : a.value(matrix, i, row)) *
             (b_is_plain() ? b.value(matrix, i, column) : b.value(matrix, column, i));
    }
    const double before = beta == 0 ? 0 : beta * c.value(matrix, row, column);
    store_element(c.type, expected.at(matrix, row, column), alpha * sum + before);
  }

  [[nodiscard]] GemmArguments arguments(std::vector<std::byte>& result) {
    return {.alpha = alpha,
            .a = {a.memory.data(), a.type, a.ld, a.stride},
            .b = {b.memory.data(), b.type, b.ld, b.stride},
            .beta = beta,
            .c = {result.data(), c.type, c.ld, c.stride}};
  }
};

GemmProblem typed(const char* types, const char* layout, Order order, std::int64_t batch) {
  GemmProblem problem{.m = 17, .n = 9, .k = 33, .order = order, .batch = batch};
  problem.types = types_from_string(types);
  set_layout(problem, layout);
  return problem;
}

constexpr const char* kSixteenBits[] = {"bf16", "f16", "bf16-f32", "f16-f32"};

TEST_SUITE("element types on the CPU device") {
  TEST_CASE("gemm(), try_gemm() and a Plan compute products of 16 bits, in both orders") {
    const TemporaryStorage storage;
    Library library(kCpu);
    for (const char* const types : kSixteenBits) {
      for (const GemmProblem& problem :
           {typed(types, "NN", Order::row_major, 1), typed(types, "TN", Order::column_major, 3)}) {
        CAPTURE(to_string(problem));
        const Plan plan = library.plan(problem);
        for (const auto& [alpha, beta] : {std::pair{1.F, 0.F}, {2.F, -0.5F}, {0.F, 3.F}}) {
          CAPTURE(alpha);
          TypedProduct product(problem, alpha, beta);
          std::vector<std::byte> result = product.c.memory;
          library.gemm(problem, product.arguments(result));
          CHECK(result == product.expected.memory);
          result = product.c.memory;
          CHECK(library.try_gemm(problem, product.arguments(result)) == Outcome::done);
          CHECK(result == product.expected.memory);
          result = product.c.memory;
          plan(product.arguments(result));
          CHECK(result == product.expected.memory);
        }
      }
    }
  }

  TEST_CASE("a product of other types than the problem's is refused") {
    const TemporaryStorage storage;
    Library library(kCpu);
    const GemmProblem problem = typed("bf16-f32", "NN", Order::row_major, 1);
    TypedProduct product(typed("bf16", "NN", Order::row_major, 1), 1, 0);
    std::vector<std::byte> result = product.c.memory;
    CHECK(library.try_gemm(problem, product.arguments(result)) == Outcome::refused);
    CHECK_THROWS_WITH_AS(library.gemm(problem, product.arguments(result)),
                         "type of C: 'bf16' must be f32, as the problem's types have it",
                         UsageError);
    CHECK(result == product.c.memory);
  }

  TEST_CASE("the C API computes products of 16 bits") {
    const TemporaryStorage storage;
    const autotune_options options = cpu_options();
    autotune_library* library = nullptr;
    REQUIRE(autotune_open(&options, &library) == AUTOTUNE_OK);
    struct Case {
      const char* types;
      std::int32_t operands, result;
    };
    for (const auto& [types, operands, of_result] :
         {Case{"f16-f32", AUTOTUNE_F16, AUTOTUNE_F32}, {"bf16", AUTOTUNE_BF16, AUTOTUNE_BF16}}) {
      CAPTURE(types);
      TypedProduct product(typed(types, "NN", Order::row_major, 1), 2, -0.5F);
      autotune_problem problem = problem_of(17, 9, 33);
      problem.type_a = problem.type_b = operands;
      problem.type_c = of_result;
      autotune_gemm_call call = call_of(&problem, nullptr, nullptr, nullptr);
      call.alpha = 2;
      call.beta = -0.5F;
      call.a = {product.a.memory.data(), product.a.ld, 0, nullptr, operands, 0};
      call.b = {product.b.memory.data(), product.b.ld, 0, nullptr, operands, 0};
      std::vector<std::byte> result = product.c.memory;
      call.c = {result.data(), product.c.ld, 0, of_result, 0};
      CHECK(autotune_gemm(library, &call) == AUTOTUNE_OK);
      CHECK(result == product.expected.memory);
      autotune_plan* plan = nullptr;
      REQUIRE(autotune_plan_create(library, &problem, 0, &plan) == AUTOTUNE_OK);
      result = product.c.memory;
      CHECK(autotune_plan_run(plan, &call) == AUTOTUNE_OK);
      CHECK(result == product.expected.memory);
      autotune_plan_destroy(plan);
    }
    autotune_close(library);
  }
}

}  // namespace
}  // namespace autotune::test
