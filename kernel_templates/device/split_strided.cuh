// The preparation of an operand whose rows are strided: op(A) of a transposed A, or op(B) of a B
// that is not transposed.
#pragma once

#include "planes.cuh"

#ifdef __CUDACC__

namespace autotune_device {

// Splits operands whose rows are strided: the blocks of a cluster split 32 rows, each a part of K.
// A block keeps held() elements of each row of its part in shared memory between the search for the
// greatest magnitude and the split, and reads the others again. Blocks send each other what they
// find of a row (st.async): a barrier of the cluster that makes writes visible would wait for all
// accesses of global memory.
struct StridedRows {
  static constexpr unsigned kRows = 32;
  static constexpr int kPitch = kRows + 1;
  static constexpr int kAtOnce = 4;                                 // loads in flight
  static constexpr int kReceived = (kSplitBlocks + 1) * kRows + 4;  // words

  static __device__ __forceinline__ unsigned blocks(unsigned rows, unsigned) {
    return ((rows - 1) / kRows + 1) * kSplitBlocks;
  }
  static __device__ __forceinline__ int held(unsigned k_tiles) {
    return k_tiles < 128 ? static_cast<int>((k_tiles + 7) / 8 * 64) : 1024;
  }

  static __device__ __forceinline__ void split(const Planes& to, const float* source, long long ld,
                                               unsigned k, unsigned block, float* shared) {
    if (is_wide(source, ld)) {
      split_strip<true>(to, source, ld, k, block, shared);
    } else {
      split_strip<false>(to, source, ld, k, block, shared);
    }
  }

 private:
  // The words that other blocks send to this one, their counterparts here, and the barriers that
  // count the bytes.
  struct Received {
    unsigned magnitudes[kSplitBlocks * kRows];  // of rows in the parts of K
    unsigned lost[kRows];                       // the counts of rows in this block's part
    Barrier has_magnitudes, has_counts;

    __device__ __forceinline__ void init() {
      if (threadIdx.x < kRows) lost[threadIdx.x] = 0;
      if (threadIdx.x > 0) return;
      init_barrier(&has_magnitudes, 1);
      init_barrier(&has_counts, 1);
      arrive_expect_tx(&has_magnitudes, static_cast<int>(sizeof(magnitudes)));
      arrive_expect_tx(&has_counts, static_cast<int>((kSplitBlocks - 1) * sizeof(lost)));
      fence_barrier_init();
    }
  };
  static_assert(sizeof(Received) == 4 * kReceived, "");

  // Sends a word of each lane to the same place in the shared memory of another block.
  static __device__ __forceinline__ void send(unsigned word, const unsigned* place,
                                              const Barrier* barrier, unsigned to) {
    send_word(cluster_address(shared_address(place), to), word,
              cluster_address(shared_address(barrier), to));
  }

  // Where rows can be loaded by vectors of 4 (kWide), a lane loads 4 rows of one k; else 4 k of one
  // row.
  template <bool kWide>
  static __device__ __forceinline__ void split_strip(const Planes& to, const float* source,
                                                     long long ld, unsigned k, unsigned block,
                                                     float* shared) {
    auto* const of_warps = reinterpret_cast<unsigned*>(shared);
    auto& received = *reinterpret_cast<Received*>(shared + kSplitThreads);
    float* const scales = shared;                            // kRows, later in the same place
    float* const tile = shared + kSplitThreads + kReceived;  // held * kPitch
    received.init();
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
    const unsigned lane = threadIdx.x % 32;
    const int held = StridedRows::held(to.k_tiles);
    // Parts are whole k_tiles, so that no two blocks store to the same sector of the L2 cache.
    const unsigned most = (to.k_tiles + kSplitBlocks - 1) / kSplitBlocks;
    const unsigned rank = block % kSplitBlocks;  // in the cluster
    const unsigned first_k_tile = min(rank * most, to.k_tiles);
    const int part = static_cast<int>(min(most, to.k_tiles - first_k_tile) * kPlaneK);
    const unsigned first_row = block / kSplitBlocks * kRows;
    const unsigned first_k = first_k_tile * kPlaneK;
    const int left = static_cast<int>(k - first_k);  // behind them there are zeros
    const unsigned rows = min(to.rows - first_row, kRows);

    uint4 greatest = {};
    const float* const from = source + first_k * ld + first_row;
    load<kWide>(from, ld, rows, left, part, held, tile, greatest);
    put_greatest<kWide>(greatest, of_warps);
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");  // all barriers are initialized
    __syncthreads();
    unsigned of_row = 0;
    if (threadIdx.x < kRows) {
      of_row = greatest_of_row(of_warps, received, rank);
      scales[lane] = power_of_two(scale_exponent(of_row));
    }
    __syncthreads();
    for (int begin = 0; begin < part; begin += held) {
      const int count = min(part - begin, held);
      if (begin > 0) {
        __syncthreads();
        load<kWide>(from + begin * ld, ld, rows, left - begin, count, held, tile, greatest);
        __syncthreads();
      }
      store(to, k, tile, scales, received.lost, first_row, first_k + begin, count);
    }
    __syncthreads();
    if (threadIdx.x >= kRows) return;
    // The counts of the other blocks come to where the first block's warps had put magnitudes,
    // which were read before any other block got this one's message.
    unsigned count = received.lost[lane];
    if (rank > 0) {
      send(count, of_warps + rank * kRows + lane, &received.has_counts, 0);
      return;
    }
    wait_parity_cluster(&received.has_counts, 0);
#pragma unroll
    for (unsigned i = 1; i < kSplitBlocks; ++i) count += of_warps[i * kRows + lane];
    if (lane < rows) to.words[first_row + lane] = word_of(of_row) + (count << kExponentBits);
  }

  // Loads `count` elements of K of the strip's rows, the first `held` of them to the tile; those
  // beyond the first `left` are 0. A warp loads the 32 neighbours of 4 elements of K at a time, and
  // a lane keeps the greatest magnitudes of its vectors' members.
  template <bool kWide>
  static __device__ __forceinline__ void load(const float* source, long long ld, unsigned rows,
                                              int left, int count, int held, float* tile,
                                              uint4& greatest) {
    const unsigned lane = threadIdx.x % 32;
    const unsigned row = kWide ? lane % 8 * 4 : lane;
    const int rows_left = static_cast<int>(rows) - static_cast<int>(row);
    const int first = static_cast<int>(threadIdx.x / 32 * 4 + (kWide ? lane / 8 : 0));
    const int step = static_cast<int>(blockDim.x / 8);  // elements of K that all threads load
    constexpr int kMembers = kWide ? 1 : kPitch;        // from one of a vector to the next
    const float* next = source + first * ld + row;
    float* to = tile + first * kPitch + row;
    left = min(left, count) - first;
    for (int k = first; k < count; k += step * kAtOnce) {
      float4 v[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        if (kWide) {
          v[i] = load4(next, left > 0 ? rows_left : 0);
        } else {
          v[i] = load4_apart(next, ld, rows_left > 0 ? left : 0);
        }
        next += step * ld;
        left -= step;
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        greatest.x = max(greatest.x, magnitude(v[i].x));
        greatest.y = max(greatest.y, magnitude(v[i].y));
        greatest.z = max(greatest.z, magnitude(v[i].z));
        greatest.w = max(greatest.w, magnitude(v[i].w));
        if (k + i * step < held) {
          to[0] = v[i].x;
          to[kMembers] = v[i].y;
          to[2 * kMembers] = v[i].z;
          to[3 * kMembers] = v[i].w;
        }
        to += step * kPitch;
      }
    }
  }

  // Stores what load() has kept of this thread. of_warps: kSplitThreads words.
  template <bool kWide>
  static __device__ __forceinline__ void put_greatest(uint4 own, unsigned* of_warps) {
    const unsigned lane = threadIdx.x % 32;
    if (kWide) {
#pragma unroll
      for (int step = 8; step < 32; step *= 2) {
        own.x = max(own.x, __shfl_xor_sync(~0u, own.x, step));
        own.y = max(own.y, __shfl_xor_sync(~0u, own.y, step));
        own.z = max(own.z, __shfl_xor_sync(~0u, own.z, step));
        own.w = max(own.w, __shfl_xor_sync(~0u, own.w, step));
      }
      if (lane < 8) {
        *reinterpret_cast<uint4*>(of_warps + (threadIdx.x - lane) + lane * 4) = own;
      }
    } else {
      of_warps[threadIdx.x] = max(max(own.x, own.y), max(own.z, own.w));
    }
  }

  // Returns the greatest magnitude of the lane's row in all parts of K. The first warp calls this.
  static __device__ __forceinline__ unsigned greatest_of_row(const unsigned* of_warps,
                                                             Received& received, unsigned rank) {
    const unsigned lane = threadIdx.x;
    unsigned greatest = 0;
    for (unsigned i = lane; i < blockDim.x; i += 32) greatest = max(greatest, of_warps[i]);
    const unsigned* const place = received.magnitudes + rank * kRows + lane;
#pragma unroll
    for (unsigned i = 0; i < kSplitBlocks; ++i) {
      send(greatest, place, &received.has_magnitudes, i);
    }
    wait_parity_cluster(&received.has_magnitudes, 0);
#pragma unroll
    for (unsigned i = 0; i < kSplitBlocks; ++i) {
      greatest = max(greatest, received.magnitudes[i * kRows + lane]);
    }
    return greatest;
  }

  // Splits `count` elements of each row, whole k_tiles, and adds to `lost` the number of
  // elements that are counted. A warp has 4 rows at a time, and 8 lanes store the 64 neighbours of
  // one.
  static __device__ __forceinline__ void store(const Planes& to, unsigned k_of_problem,
                                               const float* tile, const float* scales,
                                               unsigned* lost, unsigned first_row, unsigned first_k,
                                               int count) {
    const unsigned lane = threadIdx.x % 32;
    const unsigned own_k = lane % 8 * 8;
    const long long to_next = to.plane_elements(), to_next_k_tile = to.k_tile_elements();
    for (unsigned group = threadIdx.x / 32; group < kRows / 4; group += blockDim.x / 32) {
      const unsigned row = group * 4 + lane / 8;
      if (first_row + row >= to.rows) continue;
      const float scale = scales[row];
      const unsigned limit = count_limit(scale, k_of_problem);
      const float* from = tile + own_k * kPitch + row;
      unsigned short* high = to.high + to.place(first_row + row, first_k + own_k);
      unsigned own_lost = 0;
#pragma unroll 1
      for (int left = count; left > 0; left -= kPlaneK) {
        float v[8];
#pragma unroll
        for (int i = 0; i < 8; ++i) v[i] = from[i * kPitch];
        // One comparison tells that no element is counted, which is the usual case.
        unsigned least = ~0U;
#pragma unroll
        for (int i = 0; i < 8; ++i) least = min(least, order_of(v[i]));
        if (least < limit) {
#pragma unroll
          for (int i = 0; i < 8; ++i) own_lost += order_of(from[i * kPitch]) < limit;
        }
        unsigned words[4][kPlanes];
#pragma unroll
        for (int i = 0; i < 4; ++i) split2(v[2 * i] * scale, v[2 * i + 1] * scale, words[i]);
        unsigned short* at = high;
#pragma unroll
        for (int plane = 0; plane < kPlanes; ++plane, at += to_next) {
          store_words(at,
                      uint4{words[0][plane], words[1][plane], words[2][plane], words[3][plane]});
        }
        from += kPlaneK * kPitch;
        high += to_next_k_tile;
      }
      if (own_lost > 0) atomicAdd(lost + row, own_lost);
    }
  }
};

}  // namespace autotune_device

#endif
