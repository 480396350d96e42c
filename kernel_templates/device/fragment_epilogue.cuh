// Stores the sums of matrix fragments (device/mma_16bit.cuh) as rows of C.
#pragma once

#include "element.cuh"
#include "lane_sums.cuh"
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

  // Stores the results of a warp's tile that begins at `row` and `column`. staging: shared memory of
  // kStaging elements for each warp, which the block no longer reads. All threads of the block call
  // this.
  __device__ __forceinline__ void store(const float (&sums)[kSums], long long row, long long column,
                                        ElementC* staging) const {
    const bool is_aligned = reinterpret_cast<unsigned long long>(output.c) % 16 == 0 &&
                            output.ldc * static_cast<int>(sizeof(ElementC)) % 16 == 0;
    const int lane = static_cast<int>(threadIdx.x % 32);
    if (ALIGNED || is_aligned) {
      store_vectors(sums, row + lane / 4, column, lane % 4);
    } else {
      __syncthreads();  // all threads have read their operands from this memory
      store_elements(sums, row, column, lane, staging + threadIdx.x / 32 * kStaging);
    }
  }

 private:
  // Two neighbouring results, in words.
  static constexpr int kWords = sizeof(ElementC) / 2;
  struct Pair {
    unsigned at[kWords];
  };

  static __device__ __forceinline__ Pair pair_of(float low, float high) {
    Pair pair;
    if constexpr (kWords == 1) {
      pair.at[0] = from_floats<ElementC>(low, high);
    } else {
#ifdef __CUDACC__
      pair.at[0] = __float_as_uint(low);
      pair.at[1] = __float_as_uint(high);
#else
      pair.at[0] = __builtin_bit_cast(unsigned, low);
      pair.at[1] = __builtin_bit_cast(unsigned, high);
#endif
    }
    return pair;
  }
  // Returns two neighbouring results, or anything for those that C does not have.
  __device__ __forceinline__ Pair results(const float* sums, long long row, long long column) const {
    const bool is_row = row < m;
    const float low = is_row && column < n ? output.value(row, column, sums[0]) : 0;
    const float high = is_row && column + 1 < n ? output.value(row, column + 1, sums[1]) : 0;
    return pair_of(low, high);
  }

  // Stores vectors of up to 16 bytes, of kPairs pairs. The four lanes that have a row exchange
  // them, so that each has all pairs, or every other one, of 8 columns. row: of the lane's first
  // sum.
  __device__ __forceinline__ void store_vectors(const float (&sums)[kSums], long long row,
                                                long long column, int lane) const {
    constexpr int kPairs = minimum(4 / kWords, kFragmentsN);
    const int which = lane % kPairs;  // fragment of kPairs
    const int of_pairs = (lane - which) * 2 + which * 8;
#pragma unroll
    for (int i = 0; i < kFragmentsM; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const long long at_row = row + 16 * i + 8 * half;
#pragma unroll
        for (int j = 0; j < kFragmentsN; j += kPairs) {
          Pair pairs[kPairs];
#pragma unroll
          for (int e = 0; e < kPairs; ++e) {
            pairs[e] = results(sums + (i * kFragmentsN + j + e) * 4 + 2 * half, at_row,
                               column + 8 * (j + e) + 2 * lane);
          }
          exchange<1>(pairs, lane);
          const long long first = column + 8 * j + of_pairs;
          if (at_row < m) store_pairs(pairs, at_row, first);
        }
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
  __device__ __forceinline__ void store_pairs(const Pair (&pairs)[kPairs], long long row,
                                              long long column) const {
    constexpr int kCount = kPairs * kWords;
    Vector<unsigned, kCount> words;
#pragma unroll
    for (int i = 0; i < kCount; ++i) words.at[i] = pairs[i / kWords].at[i % kWords];
    ElementC* const to = output.c + row * output.ldc + column;
    if (column + 2 * kPairs <= n) {
      store_vector<kCount>(reinterpret_cast<unsigned*>(to), words);
    } else if (!ALIGNED) {
#pragma unroll
      for (int e = 0; e < 2 * kPairs; ++e) {
        if (column + e < n) to[e] = element_of<ElementC>(words, e);
      }
    }
  }
  template <typename T, int kCount>
  static __device__ __forceinline__ T element_of(const Vector<unsigned, kCount>& words,
                                                 int element) {
    if constexpr (sizeof(T) == 2) {
      return {static_cast<unsigned short>(words.at[element / 2] >> element % 2 * 16)};
    } else {
#ifdef __CUDACC__
      return __uint_as_float(words.at[element]);
#else
      return __builtin_bit_cast(float, words.at[element]);
#endif
    }
  }

  // Stores results one by one, neighbours by neighbouring lanes.
  __device__ __forceinline__ void store_elements(const float (&sums)[kSums], long long row,
                                                 long long column, int lane,
                                                 ElementC* staging) const {
    constexpr int kAcross = minimum(kTileColumns, 32);
    constexpr int kRows = 32 / kAcross;  // that the lanes store at once
    const int own_row = lane / kAcross, own_column = lane % kAcross;
    auto* const put = staging + lane / 4 * kPitch + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < kFragmentsM; ++i) {
      const long long of_fragment = row + 16 * i;
      sync_warp();  // all lanes have read the results of the rows before
#pragma unroll
      for (int j = 0; j < 2 * kFragmentsN; ++j) {
        const int down = j % 2 * 8, across = j / 2 * 8;
        const Pair pair =
            results(sums + i * kFragmentsN * 4 + 2 * j, of_fragment + lane / 4 + down,
                    column + across + lane % 4 * 2);
        Vector<unsigned, kWords> words;
#pragma unroll
        for (int word = 0; word < kWords; ++word) words.at[word] = pair.at[word];
        store_vector<kWords>(reinterpret_cast<unsigned*>(put + down * kPitch + across), words);
      }
      sync_warp();
#pragma unroll
      for (int across = 0; across < kTileColumns; across += kAcross) {
        const bool is_column = column + across + own_column < n;
        ElementC* to =
            output.c + (of_fragment + own_row) * output.ldc + column + across + own_column;
#pragma unroll
        for (int down = 0; down < 16; down += kRows) {
          if (is_column && of_fragment + own_row + down < m) {
            *to = staging[(own_row + down) * kPitch + own_column + across];
          }
          to += kRows * output.ldc;
        }
      }
    }
  }
};

}  // namespace autotune_device
