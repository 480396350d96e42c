// The epilogue of kernels that multiply planes of FP16 (device/split_planes.cuh).
#pragma once

#include "element.cuh"
#include "split_planes.cuh"
#include "vector.cuh"

#ifdef __CUDACC__

namespace autotune_device {

// 2^exponent as two factors, so that products of scales neither overflow nor underflow.
struct Scale {
  float first, second;
  __device__ __forceinline__ explicit Scale(int exponent)
      : first(power_of_two(exponent >> 1)), second(power_of_two(exponent - (exponent >> 1))) {}
};

// Stores results of rows and columns that were scaled by powers of two. A thread has two rows, 8
// apart, and two neighbours of every 8 columns (device/wgmma.cuh); four warps have 64 rows of the
// tile. All loads go before the stores that need them, because the compiler cannot know that stores
// leave their memory alone.
template <int kTileM, int kTileN>
struct ScaledEpilogue {
  static constexpr int kSums = kTileN / 2;
  static constexpr int kGroups = kTileN / 8;

  const float *a, *b;
  float* c;
  int m, n, k;
  long long lda, ldb, ldc;
  float alpha, beta;
  const int *exponents_a, *exponents_b;

  __device__ __forceinline__ void store(const float (&sums)[kSums], int first_row,
                                        int first_column) const {
    const int row = first_row + static_cast<int>(threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4);
    const int column = first_column + static_cast<int>(threadIdx.x % 4 * 2);
    const int in_row[2] = {exponents_a[row], exponents_a[row + 8]};
    Vector<int, 2> in_column[kGroups];
#pragma unroll
    for (int j = 0; j < kGroups; ++j) in_column[j] = load_vector<2>(exponents_b + column + 8 * j);
    bool is_finite = in_row[0] != kNotFinite && in_row[1] != kNotFinite;
#pragma unroll
    for (int i = 0; i < 2 * kGroups; ++i) is_finite &= in_column[i / 2].at[i % 2] != kNotFinite;
    const bool whole = is_finite && first_row + kTileM <= m && first_column + kTileN <= n &&
                       ldc % 2 == 0 && reinterpret_cast<unsigned long long>(c) % 8 == 0;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float* const to = c + (row + 8 * h) * ldc + column;
      const Scale of_row(in_row[h]);
      const auto product = [&](int j, int e) {
        const Scale of_column(in_column[j].at[e]);
        return alpha * (sums[4 * j + 2 * h + e] * (of_row.first * of_column.first) *
                        (of_row.second * of_column.second));
      };
      if (!whole) {
#pragma unroll
        for (int i = 0; i < 2 * kGroups; ++i) {
          const int at = i / 2 * 8 + i % 2;
          const bool is_own = row + 8 * h < m && column + at < n && in_row[h] != kNotFinite &&
                              in_column[i / 2].at[i % 2] != kNotFinite;
          if (is_own) store_result(to + at, product(i / 2, i % 2), beta);
        }
        continue;
      }
      Vector<float, 2> previous[kGroups] = {};
      if (beta != 0) {
#pragma unroll
        for (int j = 0; j < kGroups; ++j) previous[j] = load_vector<2>(to + 8 * j);
      }
#pragma unroll
      for (int j = 0; j < kGroups; ++j) {
        store_vector<2>(to + 8 * j,
                        Vector<float, 2>{{scaled_result(product(j, 0), beta, previous[j].at[0]),
                                          scaled_result(product(j, 1), beta, previous[j].at[1])}});
      }
    }
    if (!is_finite) store_not_finite(row, column);
  }

 private:
  // Computes and stores the results of this thread in rows and columns that are not finite.
  __device__ __forceinline__ void store_not_finite(int first_row, int first_column) const {
#pragma unroll 1
    for (int i = 0; i < kSums; ++i) {
      const int row = first_row + i % 2 * 8;
      const int column = first_column + i / 4 * 8 + i / 2 % 2;
      if (row >= m || column >= n) continue;
      if (exponents_a[row] != kNotFinite && exponents_b[column] != kNotFinite) continue;
      const float* from_a = a + row * (TRANSPOSE_A ? 1 : lda);
      const float* from_b = b + column * (TRANSPOSE_B ? ldb : 1);
      float sum = 0;
#pragma unroll 1
      for (int at = 0; at < k; ++at) {
        sum = fmaf(*from_a, *from_b, sum);
        from_a += TRANSPOSE_A ? lda : 1;
        from_b += TRANSPOSE_B ? 1 : ldb;
      }
      store_result(c + row * ldc + column, alpha * sum, beta);
    }
  }
};

}  // namespace autotune_device

#endif
