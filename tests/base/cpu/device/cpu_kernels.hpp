// Kernels of the common signature for tests of the CPU device, right ones and faulty ones.
#pragma once

#include <string>

namespace host_kernels {

// One thread a result, 8 x 8 threads a block, without shared memory. `before` is put in front of
// the sum, `store` stores it; they see row, column, m, n, k, c and sum.
inline std::string simple(const std::string& before, const std::string& store) {
  return R"(
extern "C" __global__ void simple(const float* a, const float* b, float* c, long long m,
                                  long long n, long long k, long long lda, long long ldb,
                                  long long ldc, float alpha, float beta, float*,
                                  unsigned) {
  static int runs = 0;
  const long long tiles_n = (n + 7) / 8;
  const long long row = blockIdx.x / tiles_n * 8 + threadIdx.y;
  const long long column = blockIdx.x % tiles_n * 8 + threadIdx.x;
  )" + before +
         R"(
  if (row >= m || column >= n) return;
  float sum = 0;
  for (long long i = 0; i < k; ++i) sum = fmaf(a[row * lda + i], b[i * ldb + column], sum);
  )" + store +
         "\n}\n";
}

inline constexpr const char* kStore = "c[row * ldc + column] = alpha * sum;";

}  // namespace host_kernels
