// The epilogue of kernels that multiply planes (device/planes.cuh).
#pragma once

#include "element.cuh"
#include "planes.cuh"
#include "vector.cuh"

#ifdef __CUDACC__

namespace autotune_device {

// A column of a warp's tile in shared memory, where lanes exchange results: those of 16 rows, in
// the order 0, 8, 1, 9 and so on. Columns are 20 words apart, so that lanes that store pairs in 4
// columns, and lanes that load vectors of 4 from 8 columns, use all banks once.
struct alignas(16) ExchangedColumn {
  float results[16];
  float unused[4];
};

// Stores results of rows and columns that were scaled by powers of two. A thread has two rows, 8
// apart, and two neighbours of every 8 columns (device/wgmma.cuh); four warps have 64 rows of the
// tile. An instruction stores 32 columns of one row, because rows may begin anywhere: pairs in 8
// rows would be parts of up to 16 sectors. Results are multiplied by the scales of rows before the
// exchange and by those of columns behind it, where all of the warp's scales are moderate.
template <int kTileN>
struct ScaledEpilogue {
  static constexpr int kSums = kTileN / 2;
  static constexpr int kPasses = (kTileN + 31) / 32;  // over columns; the last may have fewer

  const float *a, *b;
  float* c;
  int m, n, k;
  long long lda, ldb, ldc;
  float alpha, beta;
  const unsigned *words_a, *words_b;
  ExchangedColumn* exchange;  // 32 columns for each warp

  // The words of a lane's row and of its columns (device/planes.cuh).
  struct Words {
    unsigned in_row, in_column[kPasses];
  };
  // Loads the words for store(). Loads that are under way while the tensor cores multiply cost
  // nothing.
  __device__ __forceinline__ Words load_words(int tile_row, int first_column) const {
    const int lane = static_cast<int>(threadIdx.x % 32);
    Words words;
    words.in_row = words_a[tile_row + static_cast<int>(threadIdx.x / 32 * 16) + lane % 16];
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
      words.in_column[pass] = words_b[first_column + 32 * pass + lane];
    }
    return words;
  }

  // Stores the tile that begins at the row and the column. All threads of four warps call this.
  __device__ __forceinline__ void store(const float (&sums)[kSums], const Words& words,
                                        int tile_row, int first_column) const {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int first_row = tile_row + static_cast<int>(threadIdx.x / 32 * 16);
    // The last pass must leave the columns behind the tile to its neighbour.
    const int columns = min(n - first_column, kTileN);
    const unsigned last = last_split(k);
    ExchangedColumn* const all_columns = exchange + threadIdx.x / 32 * 32;
    ExchangedColumn& own_column = all_columns[lane];
    const int own_row = first_row + lane % 16;
    const bool own_is_split = words.in_row <= last;
    const unsigned stored_rows = __ballot_sync(kAllLanes, own_row < m && own_is_split);
    bool all_split = own_row >= m || own_is_split;
    bool is_moderate = own_row >= m || !own_is_split || has_moderate_scale(words.in_row);
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
      const bool is_there = 32 * pass + lane < columns;
      const bool is_split = words.in_column[pass] <= last;
      all_split &= !is_there || is_split;
      is_moderate &= !is_there || !is_split || has_moderate_scale(words.in_column[pass]);
    }
    is_moderate = __all_sync(kAllLanes, is_moderate && is_moderate_factor(alpha));
    float* const to = c + first_row * ldc + first_column + lane;
    float of_rows[2] = {1, 1};
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const unsigned word = __shfl_sync(kAllLanes, words.in_row, lane / 4 + 8 * i);
      if (is_moderate) of_rows[i] = power_of_two(exponent_of(word));
    }
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
      __syncwarp();  // for the results before
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const int at = 16 * pass + 4 * (i / 2) + i % 2;
        if (at >= kSums) break;
        store_vector<2>(all_columns[8 * (i / 2) + lane % 4 * 2 + i % 2].results + lane / 4 * 2,
                        Vector<float, 2>{{sums[at] * of_rows[0], sums[at + 2] * of_rows[1]}});
      }
      __syncwarp();
      const int exponent = exponent_of(words.in_column[pass]);
      float of_column = 1;
      if (is_moderate) {
        of_column = alpha * power_of_two(exponent);
      } else {
        scale_column(own_column, words.in_row, exponent);
      }
      const bool is_stored = 32 * pass + lane < columns && words.in_column[pass] <= last;
      store_column(own_column, is_stored ? stored_rows : 0, of_column, to + 32 * pass);
    }
    if (!__all_sync(kAllLanes, all_split)) {
      store_not_split(first_row + lane / 4, first_column + lane % 4 * 2, last);
    }
  }

 private:
  static constexpr unsigned kAllLanes = 0xffffffff;

  // Returns whether the scale is moderate: sums can be multiplied by two such scales in turn as if
  // by their product. They are multiples of 2^-60 and at most 2^51, so that nothing underflows.
  static __device__ __forceinline__ bool has_moderate_scale(unsigned word) {
    const int exponent = exponent_of(word);
    return exponent >= -60 && exponent <= 30;
  }
  // Returns whether a factor can be multiplied by such a scale exactly.
  static __device__ __forceinline__ bool is_moderate_factor(float factor) {
    return factor == 0 || (fabsf(factor) >= 0x1p-20f && fabsf(factor) <= 0x1p20f);
  }

  // Multiplies the results of this lane's column by alpha and by scales of any size, which are
  // applied as two factors so that products of scales neither overflow nor underflow.
  __device__ __forceinline__ void scale_column(ExchangedColumn& column, unsigned word_of_row,
                                               int column_exponent) const {
#pragma unroll 1
    for (int i = 0; i < 16; ++i) {
      const unsigned word = __shfl_sync(kAllLanes, word_of_row, i / 2 + i % 2 * 8);
      const int row_exponent = exponent_of(word);
      const int of_row = row_exponent >> 1, of_column = column_exponent >> 1;
      const float first = power_of_two(of_row) * power_of_two(of_column);
      const float second =
          power_of_two(row_exponent - of_row) * power_of_two(column_exponent - of_column);
      column.results[i] = alpha * (column.results[i] * first * second);
    }
  }

  // Stores a column's results, multiplied by the factor, in those of 16 rows whose bit in
  // stored_rows is set.
  __device__ __forceinline__ void store_column(ExchangedColumn& column, unsigned stored_rows,
                                               float factor, float* to) const {
    if (beta != 0) {
      add_previous(column, stored_rows, factor, to);
      factor = 1;
    }
    Vector<float, 4> results[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) results[i] = load_vector<4>(column.results + 4 * i);
    float* to_8 = to + 8 * ldc;
    long long step = ldc;  // hidden from the compiler, which would multiply it for each row
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (stored_rows >> i & 1) *to = results[i / 2].at[i % 2 * 2] * factor;
      if (stored_rows >> i & 0x100) *to_8 = results[i / 2].at[i % 2 * 2 + 1] * factor;
      to += step;
      to_8 += step;
      asm("" : "+l"(step));
    }
  }

  // Multiplies a column's results by the factor and adds beta times the previous ones.
  __device__ __forceinline__ void add_previous(ExchangedColumn& column, unsigned stored_rows,
                                               float factor, const float* from) const {
#pragma unroll 2
    for (int i = 0; i < 16; i += 4) {
      auto results = load_vector<4>(column.results + i);
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int row = i / 2 + e / 2 + e % 2 * 8;
        const float previous = stored_rows >> row & 1 ? from[row * ldc] : 0;
        results.at[e] = fmaf(beta, previous, results.at[e] * factor);
      }
      store_vector<4>(column.results + i, results);
    }
  }

  // Computes and stores the results of this thread in rows and columns that their planes do not
  // hold.
  __device__ __forceinline__ void store_not_split(int first_row, int first_column,
                                                  unsigned last) const {
    // A thread has registers for 32 columns at a time. Where a tile's columns are not a multiple of
    // 32, it takes 16 at a time, so that no column behind the tile is stored.
    constexpr int kColumns = kTileN % 32 == 0 ? 32 : 16;
    static_assert(kTileN % kColumns == 0, "");
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
