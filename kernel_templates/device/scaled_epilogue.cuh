// The epilogue of kernels that multiply planes (device/split_planes.cuh).
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
  const unsigned *words_a, *words_b;

  __device__ __forceinline__ void store(const float (&sums)[kSums], int first_row,
                                        int first_column) const {
    const int row = first_row + static_cast<int>(threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4);
    const int column = first_column + static_cast<int>(threadIdx.x % 4 * 2);
    const unsigned last = last_split(k);
    const unsigned in_row[2] = {words_a[row], words_a[row + 8]};
    Vector<unsigned, 2> in_column[kGroups];
#pragma unroll
    for (int j = 0; j < kGroups; ++j) in_column[j] = load_vector<2>(words_b + column + 8 * j);
    bool is_split = in_row[0] <= last && in_row[1] <= last;
#pragma unroll
    for (int i = 0; i < 2 * kGroups; ++i) is_split &= in_column[i / 2].at[i % 2] <= last;
    const bool whole = is_split && first_row + kTileM <= m && first_column + kTileN <= n &&
                       ldc % 2 == 0 && reinterpret_cast<unsigned long long>(c) % 8 == 0;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float* const to = c + (row + 8 * h) * ldc + column;
      const Scale of_row(exponent_of(in_row[h]));
      const auto product = [&](int j, int e) {
        const Scale of_column(exponent_of(in_column[j].at[e]));
        return alpha * (sums[4 * j + 2 * h + e] * (of_row.first * of_column.first) *
                        (of_row.second * of_column.second));
      };
      if (!whole) {
#pragma unroll
        for (int i = 0; i < 2 * kGroups; ++i) {
          const int at = i / 2 * 8 + i % 2;
          const bool is_own = row + 8 * h < m && column + at < n && in_row[h] <= last &&
                              in_column[i / 2].at[i % 2] <= last;
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
    if (!is_split) store_not_split(row, column, last);
  }

 private:
  // Computes and stores the results of this thread in rows and columns that their planes do not
  // hold.
  __device__ __forceinline__ void store_not_split(int first_row, int first_column,
                                                  unsigned last) const {
    constexpr int kColumns = 32;  // of the tile, for which a thread has registers
#pragma unroll 1
    for (int column = 0; column < kTileN; column += kColumns) {
      bool has_any = false;
#pragma unroll 1
      for (int i = 0; i < kColumns / 2; ++i) {
        has_any |= is_own(first_row, first_column + column, i, last);
      }
      if (has_any) store_chains<kColumns>(first_row, first_column + column, last);
    }
  }

  // Returns whether a result is in the matrix, and in a row or column that its planes do not hold.
  __device__ __forceinline__ bool is_own(int first_row, int first_column, int result,
                                         unsigned last) const {
    const int row = first_row + result / 2 % 2 * 8;
    const int column = first_column + result / 4 * 8 + result % 2;
    return row < m && column < n && (words_a[row] > last || words_b[column] > last);
  }

  // Computes this thread's results in kColumns columns, all because they share what they load, and
  // stores those that are its own.
  template <int kColumns>
  __device__ __forceinline__ void store_chains(int first_row, int first_column,
                                               unsigned last) const {
    float sums[kColumns / 2] = {};
    const long long from_row = TRANSPOSE_A ? 1 : lda;
    const long long from_column = TRANSPOSE_B ? ldb : 1;
    const float* at_a = a + first_row * from_row;
    const float* at_b = b + first_column * from_column;
#pragma unroll 1
    for (int left = k; left > 0; --left) {
      float of_a[2];
#pragma unroll
      for (int h = 0; h < 2; ++h) of_a[h] = first_row + 8 * h < m ? at_a[8 * h * from_row] : 0;
#pragma unroll
      for (int i = 0; i < kColumns / 4; ++i) {
        const int offset = i / 2 * 8 + i % 2;
        const float of_b = first_column + offset < n ? at_b[offset * from_column] : 0;
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          float& sum = sums[i / 2 * 4 + 2 * h + i % 2];
          sum = fmaf(of_a[h], of_b, sum);
        }
      }
      at_a += TRANSPOSE_A ? lda : 1;
      at_b += TRANSPOSE_B ? 1 : ldb;
    }
#pragma unroll
    for (int i = 0; i < kColumns / 2; ++i) {
      float* const to = c + (first_row + i / 2 % 2 * 8) * ldc + first_column + i / 4 * 8 + i % 2;
      if (is_own(first_row, first_column, i, last)) store_result(to, alpha * sums[i], beta);
    }
  }
};

}  // namespace autotune_device

#endif
