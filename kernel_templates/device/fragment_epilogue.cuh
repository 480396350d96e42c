// Stores the sums of matrix fragments (device/mma_16bit.cuh) as rows of C.
#pragma once

#include "element.cuh"
#include "lane_sums.cuh"
#include "mma.cuh"
#include "output.cuh"
#include "sync.cuh"
#include "vector.cuh"

namespace autotune_device {

// A warp's tile of kTileRows x kTileColumns results. Of each 16 rows and 8 columns a lane has 4
// sums, as multiply_fragments() leaves them: two neighbours in the row lane / 4 and two in the row
// 8 further; those of the next columns follow, then those of the next rows.
template <int kTileRows, int kTileColumns, int kThreads>
struct FragmentEpilogue {
  static constexpr int kFragmentsM = kTileRows / 16;
  static constexpr int kFragmentsN = kTileColumns / 8;
  static constexpr int kSums = 4 * kFragmentsM * kFragmentsN;
  // Elements from one row of 16 to the next where lanes exchange results: the gap keeps stores free
  // of bank conflicts.
  static constexpr int kPitch = kTileColumns + 8;
  static constexpr int kStaging = 16 * kPitch;  // elements of a warp

  Output output;
  long long m, n;

  // Stores the results of a warp's tile that begins at `row` and `column`. staging: shared memory
  // of kStaging elements for each warp, which the block no longer reads. All threads of the block
  // call this.
  __device__ __forceinline__ void store(const float (&sums)[kSums], long long row, long long column,
                                        ElementC* staging) const {
    const bool is_aligned = reinterpret_cast<unsigned long long>(output.c) % 16 == 0 &&
                            output.ldc * static_cast<int>(sizeof(ElementC)) % 16 == 0;
    const Corner corner{row, column, left_of(m - row), left_of(n - column)};
    if (ALIGNED || is_aligned) {
      store_vectors(sums, corner);
    } else {
      __syncthreads();  // all threads have read their operands from this memory
      store_elements(sums, corner, staging + threadIdx.x / 32 * kStaging);
    }
  }

 private:
  // Two neighbouring results, in words.
  static constexpr int kWords = sizeof(ElementC) / 2;
  struct Pair {
    unsigned at[kWords];
  };

  template <typename T>
  static __device__ __forceinline__ Pair pair_of(float low, float high) {
    Pair pair;
    if constexpr (sizeof(T) == 2) {
#ifdef __CUDACC__
      pair.at[0] = from_floats<T>(low, high);
#else
      pair.at[0] = from_float<T>(low).bits | static_cast<unsigned>(from_float<T>(high).bits) << 16;
#endif
    } else {
      pair.at[0] = bits_of(low);
      pair.at[1] = bits_of(high);
    }
    return pair;
  }
  // The first row and column of the warp's tile, and how many C has from them on, up to 256.
  struct Corner {
    long long row, column;
    int rows, columns;
  };
  static __device__ __forceinline__ int left_of(long long left) {
    return left < 256 ? static_cast<int>(left) : 256;
  }

  // Returns two neighbouring results, or anything for those that C does not have.
  __device__ __forceinline__ Pair results(const float* sums, const Corner& corner, int down,
                                          int across) const {
    const long long row = corner.row + down, column = corner.column + across;
    const bool is_row = down < corner.rows;
    const bool has_low = is_row && across < corner.columns;
    const bool has_high = is_row && across + 1 < corner.columns;
    return pair_of<ElementC>(has_low ? output.value(row, column, sums[0]) : 0,
                             has_high ? output.value(row, column + 1, sums[1]) : 0);
  }

  // Stores vectors of up to 16 bytes, of kPairs pairs. The four lanes that have a row exchange
  // them, so that each has all pairs, or every other one, of 8 columns.
  __device__ __forceinline__ void store_vectors(const float (&sums)[kSums],
                                                const Corner& corner) const {
    constexpr int kPairs = minimum(4 / kWords, kFragmentsN);
    const int lane = static_cast<int>(threadIdx.x % 4);
    const int own_row = static_cast<int>(threadIdx.x % 32 / 4);
    const int which = lane % kPairs;  // fragment of kPairs
    const int own_column = (lane - which) * 2 + which * 8;
#pragma unroll
    for (int i = 0; i < 2 * kFragmentsM; ++i) {
      const int down = own_row + 8 * i;
#pragma unroll
      for (int j = 0; j < kFragmentsN; j += kPairs) {
        Pair pairs[kPairs];
#pragma unroll
        for (int e = 0; e < kPairs; ++e) {
          pairs[e] = results(sums + (i / 2 * kFragmentsN + j + e) * 4 + i % 2 * 2, corner, down,
                             8 * (j + e) + 2 * lane);
        }
        exchange<1>(pairs, lane);
        if (down < corner.rows) store_pairs(pairs, corner, down, own_column + 8 * j);
      }
    }
  }

  // Gives pair e of this lane to lane e of each kPairs, which keeps it in the place of this lane.
  template <int kDistance, int kPairs>
  static __device__ __forceinline__ void exchange(Pair (&pairs)[kPairs], int lane) {
    if constexpr (kDistance < kPairs) {
      const bool upper = lane & kDistance;
#pragma unroll
      for (int e = 0; e < kPairs; ++e) {
        if (e & kDistance) continue;
#pragma unroll
        for (int word = 0; word < kWords; ++word) {
          unsigned& low = pairs[e].at[word];
          unsigned& high = pairs[e | kDistance].at[word];
          const unsigned taken = shuffle_xor<kThreads>(upper ? low : high, kDistance);
          low = upper ? taken : low;
          high = upper ? high : taken;
        }
      }
      exchange<2 * kDistance>(pairs, lane);
    }
  }

  template <int kPairs>
  __device__ __forceinline__ void store_pairs(const Pair (&pairs)[kPairs], const Corner& corner,
                                              int down, int across) const {
    constexpr int kCount = kPairs * kWords;
    Vector<unsigned, kCount> words;
#pragma unroll
    for (int i = 0; i < kCount; ++i) words.at[i] = pairs[i / kWords].at[i % kWords];
    ElementC* const to = output.c + (corner.row + down) * output.ldc + corner.column + across;
    if (across + 2 * kPairs <= corner.columns) {
      store_vector<kCount>(reinterpret_cast<unsigned*>(to), words);
    } else if (!ALIGNED) {
#pragma unroll
      for (int e = 0; e < 2 * kPairs; ++e) {
        if (across + e < corner.columns) to[e] = element_of<ElementC>(words, e);
      }
    }
  }
  template <typename T, int kCount>
  static __device__ __forceinline__ T element_of(const Vector<unsigned, kCount>& words,
                                                 int element) {
    if constexpr (sizeof(T) == 2) {
      return {static_cast<unsigned short>(words.at[element / 2] >> element % 2 * 16)};
    } else {
      return float_of(words.at[element]);
    }
  }

  // Stores results one by one, neighbours by neighbouring lanes.
  __device__ __forceinline__ void store_elements(const float (&sums)[kSums], const Corner& corner,
                                                 ElementC* staging) const {
    constexpr int kAcross = minimum(kTileColumns, 32);
    constexpr int kRows = 32 / kAcross;  // that the lanes store at once
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int own_row = lane / kAcross, own_column = lane % kAcross;
    ElementC* const put = staging + lane / 4 * kPitch + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < kFragmentsM; ++i) {
      sync_warp();  // all lanes have read the results of the rows before
#pragma unroll
      for (int j = 0; j < 2 * kFragmentsN; ++j) {
        const int down = j % 2 * 8, across = j / 2 * 8;
        const Pair pair = results(sums + i * kFragmentsN * 4 + 2 * j, corner,
                                  16 * i + lane / 4 + down, across + lane % 4 * 2);
        Vector<unsigned, kWords> words;
#pragma unroll
        for (int word = 0; word < kWords; ++word) words.at[word] = pair.at[word];
        store_vector<kWords>(reinterpret_cast<unsigned*>(put + down * kPitch + across), words);
      }
      sync_warp();
#pragma unroll 1
      for (int across = own_column; across < kTileColumns; across += kAcross) {
        const int rows = across < corner.columns ? corner.rows - 16 * i : 0;
        ElementC* to =
            output.c + (corner.row + 16 * i + own_row) * output.ldc + corner.column + across;
        const ElementC* from = staging + own_row * kPitch + across;
#pragma unroll 4
        for (int down = own_row; down < 16; down += kRows) {
          if (down < rows) *to = *from;
          to += kRows * output.ldc;
          from += kRows * kPitch;
        }
      }
    }
  }
};

}  // namespace autotune_device
