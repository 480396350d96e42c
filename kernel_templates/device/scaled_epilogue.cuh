// The epilogue of kernels that multiply planes (device/planes.cuh).
#pragma once

#include "element.cuh"
#include "planes.cuh"
#include "vector.cuh"

#ifdef __CUDACC__

namespace autotune_device {

// 2^exponent as two factors, so that products of scales neither overflow nor underflow.
struct alignas(8) Scale {
  float first, second;
  Scale() = default;
  __device__ __forceinline__ explicit Scale(int exponent)
      : first(power_of_two(exponent >> 1)), second(power_of_two(exponent - (exponent >> 1))) {}
};

// Shared memory in which a warp's lanes exchange results of 16 rows and 32 columns. Rows are 40
// words apart, so that 16 lanes that store pairs of 4 rows use all banks once.
struct ExchangedRow {
  float results[32];
  Scale scale;
  float unused[6];
};

// Stores results of rows and columns that were scaled by powers of two. A thread has two rows, 8
// apart, and two neighbours of every 8 columns (device/wgmma.cuh); four warps have 64 rows of the
// tile. An instruction stores 32 columns of one row, because rows may begin anywhere: pairs in 8
// rows would be parts of up to 16 sectors. Code that runs once has to be fetched first, so it is
// kept short: a loop over the rows.
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
  ExchangedRow* exchange;  // 16 rows for each warp

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
    ExchangedRow* const rows = exchange + threadIdx.x / 32 * 16;
    const int own_row = first_row + lane % 16;
    const unsigned stored_rows = __ballot_sync(kAllLanes, own_row < m && words.in_row <= last);
    bool all_split = own_row >= m || words.in_row <= last;
    __syncwarp();  // for the scales of the tile before
    rows[lane % 16].scale = Scale(exponent_of(words.in_row));
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
      const int column = 32 * pass + lane;  // of the tile
      const unsigned in_column = words.in_column[pass];
      all_split &= column >= columns || in_column <= last;
      __syncwarp();  // for the results before
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const int at = 16 * pass + 4 * (i / 2) + 2 * (i % 2);
        if (at >= kSums) break;
        store_vector<2>(rows[lane / 4 + i % 2 * 8].results + 8 * (i / 2) + lane % 4 * 2,
                        Vector<float, 2>{{sums[at], sums[at + 1]}});
      }
      __syncwarp();
      const bool is_stored = column < columns && in_column <= last;
      store_rows(rows, is_stored ? stored_rows : 0, Scale(exponent_of(in_column)),
                 c + first_row * ldc + first_column + column);
    }
    if (!__all_sync(kAllLanes, all_split)) {
      store_not_split(first_row + lane / 4, first_column + lane % 4 * 2, last);
    }
  }

 private:
  static constexpr unsigned kAllLanes = 0xffffffff;

  // Stores an element, in this lane's column, of each of 16 rows whose bit in stored_rows is set.
  __device__ __forceinline__ void store_rows(const ExchangedRow* rows, unsigned stored_rows,
                                             const Scale& of_column, float* to) const {
    constexpr int kAtOnce = 8;  // loads go before stores, which may be to the same memory
#pragma unroll 1
    for (int first = 0; first < 16; first += kAtOnce) {
      float results[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const ExchangedRow& row = rows[first + i];
        const Scale of_row = row.scale;
        results[i] = alpha * (row.results[threadIdx.x % 32] * (of_row.first * of_column.first) *
                              (of_row.second * of_column.second));
      }
      if (beta != 0) {
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) {
          if (stored_rows >> i & 1) results[i] = fmaf(beta, to[i * ldc], results[i]);
        }
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        if (stored_rows >> i & 1) to[i * ldc] = results[i];
      }
      stored_rows >>= kAtOnce;
      to += kAtOnce * ldc;
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
