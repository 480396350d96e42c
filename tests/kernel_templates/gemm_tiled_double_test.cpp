// gemm_tiled.cu with another element type: compiled for FP64 by macros alone, its results are one
// chain of fused multiply-adds in double, bit for bit.
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "cuda_on_cpu.hpp"

namespace {

using cuda_on_cpu::__syncthreads;
using cuda_on_cpu::blockIdx;
using cuda_on_cpu::threadIdx;

// clang-format off
#define ELEMENT_A double
#define ELEMENT_B double
#define ELEMENT_C double
#define ELEMENT_ACC double
#define TILE_WIDTH 8
#define RESULTS_M 4
#define RESULTS_N 2
#define UNROLL 8
#define A_TRANSPOSED 1
#define PADDING 1
#define VECTOR_WIDTH 4
#define PREFETCH 1
#define TRANSPOSE_A 0
#define TRANSPOSE_B 1
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-compare"
#include "embedded/gemm_tiled.cu"
#pragma GCC diagnostic pop
// clang-format on

std::vector<double> random_matrix(long long rows, long long leading, std::mt19937& random) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> matrix(static_cast<std::size_t>(rows * leading));
  for (double& value : matrix) value = uniform(random);
  return matrix;
}

// Runs C = alpha * A * B^T + beta * C and returns the elements that differ in any bit from the
// chain of fused multiply-adds.
int wrong_elements(long long m, long long n, long long k, long long gap, double beta) {
  constexpr double kAlpha = -1.25;
  std::mt19937 random(7);
  const long long lda = k + gap;
  const long long ldc = n + gap;
  const std::vector<double> a = random_matrix(m, lda, random);
  const std::vector<double> b = random_matrix(n, lda, random);
  std::vector<double> c = random_matrix(m, ldc, random);
  if (beta == 0) c.assign(c.size(), std::numeric_limits<double>::quiet_NaN());
  std::vector<double> expected = c;
  for (long long row = 0; row < m; ++row) {
    for (long long column = 0; column < n; ++column) {
      double sum = 0;
      for (long long i = 0; i < k; ++i) {
        sum = std::fma(a[static_cast<std::size_t>(row * lda + i)],
                       b[static_cast<std::size_t>(column * lda + i)], sum);
      }
      double& result = expected[static_cast<std::size_t>(row * ldc + column)];
      result = beta == 0 ? kAlpha * sum : std::fma(beta, result, kAlpha * sum);
    }
  }
  autotune::LaunchGeometry geometry;
  geometry.grid[0] =
      ((m + OperandA::kRows - 1) / OperandA::kRows) * ((n + OperandB::kRows - 1) / OperandB::kRows);
  geometry.block = {TILE_WIDTH, TILE_WIDTH, 1};
  cuda_on_cpu::launch(geometry, [&] {
    gemm_tiled(a.data(), b.data(), c.data(), m, n, k, lda, lda, ldc, kAlpha, beta, nullptr, 1);
  });
  int wrong = 0;
  for (std::size_t i = 0; i < c.size(); ++i) {
    if (std::memcmp(&c[i], &expected[i], sizeof c[i]) != 0) ++wrong;
  }
  return wrong;
}

TEST_SUITE("gemm_tiled in FP64") {
  TEST_CASE("results are one chain of fused multiply-adds bit for bit") {
    CHECK(OperandA::kVector == 2);  // 16 bytes
    CHECK(wrong_elements(32, 32, 16, 0, 0) == 0);
    CHECK(wrong_elements(64, 16, 24, 2, 0.5) == 0);
    CHECK(wrong_elements(33, 17, 19, 0, 0) == 0);
    CHECK(wrong_elements(20, 40, 9, 3, -1) == 0);
    CHECK(wrong_elements(1, 70, 1, 1, 1) == 0);
    CHECK(cuda_on_cpu::misaligned_accesses == 0);
  }
}

}  // namespace
