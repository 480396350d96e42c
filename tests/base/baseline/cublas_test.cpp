#include "baseline/cublas.hpp"

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "autotune/error.hpp"

#include "tests/support/fake_cuda.hpp"

namespace autotune::test {
namespace {

// The fake cuBLAS (fake_cublas.hpp) on the fake driver, with whose memory it computes.
struct FakeCublas {
  explicit FakeCublas(const char* script, const char* library = AUTOTUNE_FAKE_CUBLAS) {
    ::setenv("AUTOTUNE_CUBLAS", library, 1);
    ::setenv("FAKE_CUBLAS", script, 1);
    opened.emplace(*driver, stream);
  }
  ~FakeCublas() {
    ::unsetenv("AUTOTUNE_CUBLAS");
    ::unsetenv("FAKE_CUBLAS");
  }
  FakeCublas(const FakeCublas&) = delete;
  FakeCublas& operator=(const FakeCublas&) = delete;
  gpu::Cublas* operator->() { return &*opened; }

  FakeCuda fake;
  std::shared_ptr<const gpu::Driver> driver = gpu::Driver::open();
  gpu::Stream stream{*driver};
  std::optional<gpu::Cublas> opened;
};

// Matrices of small whole numbers, with gaps between rows and between matrices.
struct Matrices {
  Matrices(std::int64_t rows, std::int64_t columns, std::int64_t batch, std::int64_t seed)
      : row_stride(columns + seed), matrix_stride(rows * row_stride + 2 * seed) {
    for (std::int64_t i = 0; i < batch * matrix_stride; ++i) {
      values.push_back(static_cast<float>((i * i + seed) % 7 - 3));
    }
  }
  float& at(std::int64_t matrix, std::int64_t row, std::int64_t column) {
    return values.at(static_cast<std::size_t>(matrix * matrix_stride + row * row_stride + column));
  }
  gpu::Cublas::Operand operand() {
    return {reinterpret_cast<std::uint64_t>(values.data()), row_stride, matrix_stride};
  }

  std::int64_t row_stride;
  std::int64_t matrix_stride;
  std::vector<float> values;
};

struct Operands {
  explicit Operands(const GemmProblem& p)
      : problem(p),
        a(is_a_as_is() ? p.m : p.k, is_a_as_is() ? p.k : p.m, p.batch, 1),
        b(is_b_as_is() ? p.k : p.n, is_b_as_is() ? p.n : p.k, p.batch, 2),
        c(p.m, p.n, p.batch, 3) {}

  // C of 2 op(A) op(B) + 3 C.
  std::vector<float> expected() {
    Matrices result = c;
    for (std::int64_t z = 0; z < problem.batch; ++z) {
      for (std::int64_t i = 0; i < problem.m; ++i) {
        for (std::int64_t j = 0; j < problem.n; ++j) {
          float sum = 0;
          for (std::int64_t l = 0; l < problem.k; ++l) {
            sum += (is_a_as_is() ? a.at(z, i, l) : a.at(z, l, i)) *
                   (is_b_as_is() ? b.at(z, l, j) : b.at(z, j, l));
          }
          result.at(z, i, j) = 2 * sum + 3 * c.at(z, i, j);
        }
      }
    }
    return result.values;
  }

  int algorithms(FakeCublas& cublas) {
    return cublas->algorithms(problem, a.operand(), b.operand(), c.operand());
  }
  // C after the product.
  std::vector<float> computed(FakeCublas& cublas, int algorithm) {
    Matrices result = c;
    cublas->gemm(problem, 2, a.operand(), b.operand(), 3, result.operand(), algorithm);
    return result.values;
  }

  [[nodiscard]] bool is_a_as_is() const { return problem.op_a == Transpose::none; }
  [[nodiscard]] bool is_b_as_is() const { return problem.op_b == Transpose::none; }

  GemmProblem problem;
  Matrices a, b, c;
};

constexpr GemmProblem kProduct{.m = 3, .n = 5, .k = 4};

}  // namespace

TEST_SUITE("Cublas") {
  TEST_CASE("a library that is not there or is not cuBLAS is told apart") {
    const FakeCuda fake;
    const auto driver = gpu::Driver::open();
    const gpu::Stream stream(*driver);
    ::setenv("AUTOTUNE_CUBLAS", "/nowhere/libcublas.so.13", 1);
    CHECK_THROWS_WITH_AS(gpu::Cublas(*driver, stream), doctest::Contains("was not found"),
                         EnvironmentError);
    ::setenv("AUTOTUNE_CUBLAS", "libm.so.6", 1);
    CHECK_THROWS_WITH_AS(gpu::Cublas(*driver, stream), doctest::Contains("is not cuBLAS"),
                         EnvironmentError);
    ::unsetenv("AUTOTUNE_CUBLAS");
  }

  TEST_CASE("every algorithm computes every layout, single products and batches") {
    FakeCublas cublas("10,10,10");
    for (const char* layout : {"NN", "NT", "TN", "TT"}) {
      for (const std::int64_t batch : {1, 3}) {
        GemmProblem problem = kProduct;
        problem.batch = batch;
        set_layout(problem, layout);
        Operands operands(problem);
        CAPTURE(to_string(problem));
        REQUIRE(operands.algorithms(cublas) == 10);
        for (const int algorithm : {0, 1, 2, gpu::Cublas::kAutotune}) {
          CAPTURE(algorithm);
          CHECK(operands.computed(cublas, algorithm) == operands.expected());
        }
      }
    }
  }

  TEST_CASE("a matrix that all products of a batch share is passed as such") {
    FakeCublas cublas("10,10");
    GemmProblem problem = kProduct;
    problem.batch = 3;
    Operands operands(problem);
    operands.b.matrix_stride = 0;
    CHECK(operands.computed(cublas, 0) == operands.expected());
    CHECK(operands.computed(cublas, 1) == operands.expected());
  }

  TEST_CASE("every algorithm uses TF32 where the math is tf32, and nowhere else") {
    FakeCublas cublas("10,10");
    for (const Math math : {Math::strict, Math::tf32, Math::emulated}) {
      Operands operands({.m = 1, .n = 1, .k = 1, .math = math});
      operands.a.at(0, 0, 0) = 1 + std::ldexp(1.0F, -12);
      operands.b.at(0, 0, 0) = 1;
      operands.c.at(0, 0, 0) = 0;
      const float rounded = math == Math::tf32 ? 1 : operands.a.at(0, 0, 0);
      CHECK(operands.computed(cublas, 0).front() == 2 * rounded);
      CHECK(operands.computed(cublas, 1).front() == 2 * rounded);
      CHECK(operands.computed(cublas, gpu::Cublas::kAutotune).front() == 2 * rounded);
    }
  }

  TEST_CASE("the heuristic's candidates are those that it does not mark as failed, at most 8") {
    Operands operands(kProduct);
    FakeCublas some("10,10,!,-");
    CHECK_THROWS_WITH_AS(operands.computed(some, 3), "cublasLt's heuristic has no candidate 3",
                         Error);
    CHECK(operands.computed(some, 1) == operands.expected());
    CHECK_THROWS_WITH_AS(operands.computed(some, 2), "cublasLtMatmul failed with cuBLAS status 13",
                         Error);
    FakeCublas many("10,1,2,3,4,5,6,7,8,9");
    CHECK(operands.computed(many, 8) == operands.expected());
  }

  TEST_CASE("cuBLAS's own choice needs neither cublasLt nor candidates of its heuristic") {
    Operands operands(kProduct);
    FakeCublas alone("10,10", AUTOTUNE_FAKE_CUBLAS_ALONE);
    CHECK_THROWS_AS(operands.computed(alone, 1), Error);
    CHECK(operands.computed(alone, 0) == operands.expected());
    FakeCublas none("10");
    CHECK_THROWS_AS(operands.computed(none, 1), Error);
    CHECK(operands.computed(none, 0) == operands.expected());
  }
}

}  // namespace autotune::test
