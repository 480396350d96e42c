// Kernels with another element type: compiled for FP64 by macros alone, their results are one chain
// of fused multiply-adds in double, bit for bit.
#include <array>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "cuda_on_cpu.hpp"

namespace {

using cuda_on_cpu::__syncthreads;
using cuda_on_cpu::blockIdx;
using cuda_on_cpu::gridDim;
using cuda_on_cpu::threadIdx;

#define ELEMENT_A double
#define ELEMENT_B double
#define ELEMENT_C double
#define ELEMENT_ACC double
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-compare"

namespace tiled {
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
#include "embedded/gemm_tiled.cu"
constexpr int kTileM = OperandA::kRows;
constexpr int kTileN = OperandB::kRows;
}  // namespace tiled

#undef RESULTS_M
#undef RESULTS_N
#undef UNROLL
#undef TRANSPOSE_A
#undef TRANSPOSE_B

namespace simt {
// A is K-major in shared memory too, B is transposed on its way.
#define RESULTS_M 4
#define RESULTS_N 4
#define LANES_M 8
#define WARPS_M 1
#define WARPS_N 2
#define BLOCK_K 8
#define SHARED_K_MAJOR 1
#define STAGE_EPILOGUE 1
#define TRANSPOSE_A 0
#define TRANSPOSE_B 0
#include "embedded/gemm_simt.cu"
}  // namespace simt

#pragma GCC diagnostic pop

std::vector<double> random_matrix(long long rows, long long leading, std::mt19937& random) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> matrix(static_cast<std::size_t>(rows * leading));
  for (double& value : matrix) value = uniform(random);
  return matrix;
}

// A kernel, the layout that it is compiled for, and its launch.
struct Kernel {
  decltype(tiled::gemm_tiled)* function;
  bool transpose_b;
  long long tile_m, tile_n;
  std::array<std::int64_t, 3> block;
};

constexpr Kernel kTiled = {tiled::gemm_tiled, true, tiled::kTileM, tiled::kTileN, {8, 8, 1}};
constexpr Kernel kSimt = {simt::gemm_simt,
                          false,
                          simt::autotune_device::kTileM,
                          simt::autotune_device::kTileN,
                          {simt::autotune_device::kThreads, 1, 1}};

// Runs C = alpha * A * op(B) + beta * C and returns the elements that differ in any bit from the
// chain of fused multiply-adds. gap: elements between the rows of each matrix.
int wrong_elements(const Kernel& kernel, long long m, long long n, long long k, long long gap,
                   double beta) {
  constexpr double kAlpha = -1.25;
  std::mt19937 random(7);
  const long long lda = k + gap;
  const long long ldb = (kernel.transpose_b ? k : n) + gap;
  const long long ldc = n + gap;
  const std::vector<double> a = random_matrix(m, lda, random);
  const std::vector<double> b = random_matrix(kernel.transpose_b ? n : k, ldb, random);
  std::vector<double> c = random_matrix(m, ldc, random);
  if (beta == 0) c.assign(c.size(), std::numeric_limits<double>::quiet_NaN());
  std::vector<double> expected = c;
  for (long long row = 0; row < m; ++row) {
    for (long long column = 0; column < n; ++column) {
      double sum = 0;
      for (long long i = 0; i < k; ++i) {
        const long long in_b = kernel.transpose_b ? column * ldb + i : i * ldb + column;
        sum = std::fma(a[static_cast<std::size_t>(row * lda + i)],
                       b[static_cast<std::size_t>(in_b)], sum);
      }
      double& result = expected[static_cast<std::size_t>(row * ldc + column)];
      result = beta == 0 ? kAlpha * sum : std::fma(beta, result, kAlpha * sum);
    }
  }
  autotune::LaunchGeometry geometry;
  geometry.grid[0] = ((m - 1) / kernel.tile_m + 1) * ((n - 1) / kernel.tile_n + 1);
  geometry.block = kernel.block;
  cuda_on_cpu::launch(geometry, [&] {
    kernel.function(a.data(), b.data(), c.data(), m, n, k, lda, ldb, ldc, kAlpha, beta, nullptr, 1);
  });
  int wrong = 0;
  for (std::size_t i = 0; i < c.size(); ++i) {
    if (std::memcmp(&c[i], &expected[i], sizeof c[i]) != 0) ++wrong;
  }
  return wrong;
}

TEST_SUITE("FP64") {
  TEST_CASE("results are one chain of fused multiply-adds bit for bit") {
    CHECK(tiled::OperandA::kVector == 2);  // 16 bytes
    CHECK(simt::OperandA::kVector == 2);
    for (const Kernel& kernel : {kTiled, kSimt}) {
      CAPTURE(kernel.transpose_b);
      CHECK(wrong_elements(kernel, 32, 32, 16, 0, 0) == 0);
      CHECK(wrong_elements(kernel, 64, 16, 24, 2, 0.5) == 0);
      CHECK(wrong_elements(kernel, 33, 17, 19, 0, 0) == 0);
      CHECK(wrong_elements(kernel, 20, 40, 9, 3, -1) == 0);
      CHECK(wrong_elements(kernel, 1, 70, 1, 1, 1) == 0);
    }
    CHECK(cuda_on_cpu::misaligned_accesses == 0);
  }
}

}  // namespace
