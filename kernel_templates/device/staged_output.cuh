// Stores the sums of matrix instructions (device/wgmma.cuh) by way of shared memory, in which the
// lanes of a warp exchange them (compute capability 9.0). Plain C++ compilers see an empty header.
#pragma once

#include "barrier.cuh"
#include "element.cuh"
#include "output.cuh"
#include "vector.cuh"

#ifdef __CUDACC__

namespace autotune_device {

// The memory that a warp exchanges results through: 16 rows of 128 bytes.
constexpr int kStagingBytes = 16 * 128;

// Stores the results of a warp in 16 rows and kColumns columns, piece by piece. A thread has two
// rows, 8 apart, and two neighbours of every 8 columns. Rows of whole vectors of 16 bytes are
// stored as such; others element by element.
template <int kColumns>
struct StagedOutput {
  static constexpr int kSums = kColumns / 2;
  struct Words {};  // nothing is loaded ahead (ClusterSums)

  Output output;
  long long m, n;
  int own_row;             // the warp's first, from the tile's first on
  unsigned char* staging;  // the warp's, at a multiple of 128 bytes

  __device__ __forceinline__ Words load_words(int, int) const { return {}; }

  // row, column: the first of the tile. All lanes call this.
  __device__ __forceinline__ void store(const float (&sums)[kSums], const Words&, long long row,
                                        long long column) const {
    row += own_row;
    const bool has_vectors = (reinterpret_cast<unsigned long long>(output.c) |
                              static_cast<unsigned long long>(output.ldc) * sizeof(ElementC)) %
                                 16 ==
                             0;
#pragma unroll
    for (int first = 0; first < kColumns; first += kPieceColumns) {
      put(sums + first / 2, row, column + first);
      __syncwarp();
      const bool is_whole = n % kVector == 0 || column + first + kPieceColumns <= n;
      if (has_vectors && is_whole) {
        store_vectors(row, column + first);
      } else {
        store_elements(row, column + first);
      }
      __syncwarp();  // the next piece overwrites this one
    }
  }

 private:
  static constexpr bool kIs16Bit = sizeof(ElementC) == 2;
  static constexpr int kVector = 16 / sizeof(ElementC);  // elements
  static constexpr int kPieceColumns = minimum(128 / sizeof(ElementC), kColumns);
  static constexpr int kVectors = kPieceColumns / kVector;  // of a row
  static constexpr int kRowBytes = 16 * kVectors;
  static_assert(kVectors == 8 || (kVectors == 4 && kIs16Bit), "swizzle() has other orders");

  static __device__ __forceinline__ int lane() {
    return static_cast<int>(threadIdx.x % 32);
  }

  // Returns the place of a vector of a row in the staging memory. Vectors are in such an order that
  // the lanes' stores use all banks evenly.
  static __device__ __forceinline__ int place(int row, int vector) {
    const int swizzle = !kIs16Bit ? row % 4 * 2 : kVectors == 8 ? row % 8 : row / 2 % 4;
    return row * kRowBytes + (vector ^ swizzle) * 16;
  }

  // Puts a piece's results into the staging memory. Those beyond C have the value of some element.
  __device__ __forceinline__ void put(const float* sums, long long row, long long column) const {
    const long long rows[] = {least(row + lane() / 4, m - 1), least(row + lane() / 4 + 8, m - 1)};
    const long long own = column + lane() % 4 * 2;
    // Returns the value of one sum of those of 8 columns.
    const auto value = [&](int group, int sum) {
      return output.value(rows[sum / 2], least(own + 8 * group + sum % 2, n - 1),
                          sums[4 * group + sum]);
    };
    if constexpr (kIs16Bit) {
      const int to_row = lane() % 16;
#pragma unroll
      for (int group = 0; group < kVectors; group += 2) {
        unsigned words[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          words[i] = from_floats<ElementC>(value(group + i / 2, i % 2 * 2),
                                           value(group + i / 2, i % 2 * 2 + 1));
        }
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                         shared_address(staging + place(to_row, group + lane() / 16))),
                     "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3])
                     : "memory");
      }
    } else {
#pragma unroll
      for (int group = 0; group < kVectors / 2; ++group) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const Vector<float, 2> two{{value(group, 2 * half), value(group, 2 * half + 1)}};
          unsigned char* const to =
              staging + place(lane() / 4 + 8 * half, 2 * group + lane() % 4 / 2) + lane() % 2 * 8;
          store_vector<2>(reinterpret_cast<float*>(to), two);
        }
      }
    }
  }

  __device__ __forceinline__ void store_vectors(long long row, long long column) const {
    constexpr int kRows = 32 / kVectors;  // that the lanes store at once
    const int own_row = lane() / kVectors, vector = lane() % kVectors;
    row += own_row;
    column += vector * kVector;
    ElementC* to = output.c + row * output.ldc + column;
    const long long rows = column < n ? m - row : 0;
#pragma unroll
    for (int i = 0; i < 16; i += kRows) {
      const auto* const from =
          reinterpret_cast<const Words128*>(staging + place(own_row + i, vector));
      if (i < rows) *reinterpret_cast<Words128*>(to + i * output.ldc) = *from;
    }
  }

  __device__ __forceinline__ void store_elements(long long row, long long column) const {
    const int rows = static_cast<int>(least(m - row, 16));
#pragma unroll
    for (int i = 0; i < kPieceColumns; i += 32) {
      const int at = i + lane();
      if (column + at >= n) continue;
      ElementC* to = output.c + row * output.ldc + column + at;
#pragma unroll 1
      for (int j = 0; j < rows; ++j, to += output.ldc) {
        const auto* const vector =
            reinterpret_cast<const ElementC*>(staging + place(j, at / kVector));
        *to = vector[at % kVector];
      }
    }
  }

  using Words128 = Vector<unsigned, 4>;
  static __device__ __forceinline__ long long least(long long a, long long b) {
    return a < b ? a : b;
  }
};

}  // namespace autotune_device

#endif
