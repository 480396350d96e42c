// The preparation of an operand whose rows are contiguous: op(A) of an A that is not transposed, or
// op(B) of a transposed B.
#pragma once

#include "planes.cuh"

#ifdef __CUDACC__

namespace autotune_device {

// Splits operands whose rows are contiguous: a team of 32 to 256 threads, a power of two, reads a
// row, once if it has at most kHeld elements for each thread; or a warp reads two or four short
// rows. shared: kSplitThreads floats, and behind them kHeld for each thread.
struct ContiguousRows {
  static constexpr int kVectors = 4;  // of 4 elements, that a thread holds
  static constexpr unsigned kHeld = 4 * kVectors;

  // Returns the logarithm to base 2 of the threads of a team.
  static __device__ __forceinline__ int log2_team(unsigned k) {
    const int holding = 32 - __clz(static_cast<int>((k - 1) / kHeld));
    return min(max(holding, 5), log2_of(blockDim.x));
  }
  // Returns the logarithm to base 2 of the rows that a team reads.
  static __device__ __forceinline__ int log2_team_rows(unsigned k) {
    return k <= 128 ? 2 : k <= 256 ? 1 : 0;
  }

  // Returns the blocks that an operand needs: whole clusters.
  static __device__ __forceinline__ unsigned blocks(unsigned rows, unsigned k) {
    const int log2_rows = log2_of(kSplitBlocks * blockDim.x) - log2_team(k) + log2_team_rows(k);
    return (((rows - 1) >> log2_rows) + 1) * kSplitBlocks;
  }

  static __device__ __forceinline__ void split(const Planes& to, const float* source, long long ld,
                                               unsigned k, unsigned block, float* shared) {
    float* const exchange = shared + kSplitThreads + threadIdx.x / 32 * 32 * kHeld;
    if (is_wide(source, ld)) {
      split_rows<true>(to, source, ld, k, block, shared, exchange);
    } else {
      split_rows<false>(to, source, ld, k, block, shared, exchange);
    }
  }

 private:
  using Vectors = float4[kVectors];

  static __device__ __forceinline__ int log2_of(unsigned power) {
    return 31 - __clz(static_cast<int>(power));
  }
  template <bool kWide>
  static __device__ __forceinline__ void split_rows(const Planes& to, const float* source,
                                                    long long ld, unsigned k, unsigned block,
                                                    float* shared, float* exchange) {
    if (log2_team_rows(k) > 0) {
      split_short<kWide>(to, source, ld, k, block, exchange);
    } else {
      split_long<kWide>(to, source, ld, k, block, shared, exchange);
    }
  }

  // Loads 128 neighbours with a warp, beginning at `from`, of which `left` are there. With kWide a
  // lane has 4 neighbours; else neighbouring lanes load neighbours, and the lane has those that are
  // 32 apart (see put).
  template <bool kWide>
  static __device__ __forceinline__ float4 load(const float* from, int left) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    if (kWide) return load4(from + 4 * lane, left - 4 * lane);
    return load4_apart(from + lane, 32, (left - lane + 31) >> 5);
  }
  // Give each lane its 4 neighbours of what load<false>() has loaded. All lanes call put(), then
  // __syncwarp() and get(). exchange: 128 floats of the warp.
  static __device__ __forceinline__ void put(float4 v, float* exchange) {
    const unsigned lane = threadIdx.x % 32;
    exchange[lane] = v.x;
    exchange[lane + 32] = v.y;
    exchange[lane + 64] = v.z;
    exchange[lane + 96] = v.w;
  }
  static __device__ __forceinline__ float4 get(const float* exchange) {
    return reinterpret_cast<const float4*>(exchange)[threadIdx.x % 32];
  }
  template <bool kWide>
  static __device__ __forceinline__ void put_in_order(Vectors& held, float* exchange) {
    if constexpr (!kWide) {
#pragma unroll
      for (int i = 0; i < kVectors; ++i) put(held[i], exchange + 128 * i);
      __syncwarp();
#pragma unroll
      for (int i = 0; i < kVectors; ++i) held[i] = get(exchange + 128 * i);
    }
  }

  static __device__ __forceinline__ unsigned greatest_of(float4 v) {
    return max(max(magnitude(v.x), magnitude(v.y)), max(magnitude(v.z), magnitude(v.w)));
  }
  static __device__ __forceinline__ unsigned greatest_of_warp(unsigned greatest) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
      greatest = max(greatest, __shfl_xor_sync(~0U, greatest, step));
    }
    return greatest;
  }

  // Adds to a row's count, if there is something to add. Its word was set to 0 before.
  static __device__ __forceinline__ void add_count(unsigned* word, unsigned count) {
    if (count > 0) atomicAdd(word, count << kExponentBits);
  }

  static __device__ __forceinline__ float4 scaled(float4 v, float scale) {
    return {v.x * scale, v.y * scale, v.z * scale, v.w * scale};
  }
  static __device__ __forceinline__ unsigned least_order(float4 v) {
    return min(min(order_of(v.x), order_of(v.y)), min(order_of(v.z), order_of(v.w)));
  }
  static __device__ __forceinline__ unsigned count_below(float4 v, unsigned limit) {
    return (order_of(v.x) < limit) + (order_of(v.y) < limit) + (order_of(v.z) < limit) +
           (order_of(v.w) < limit);
  }

  // Splits 4 scaled neighbours, and stores them if is_there. high: their place in the first plane.
  // to_next: the distance of the next one.
  static __device__ __forceinline__ void store(unsigned short* high, long long to_next, float4 v,
                                               bool is_there) {
    unsigned first[kPlanes], second[kPlanes];
    split2(v.x, v.y, first);
    split2(v.z, v.w, second);
#pragma unroll
    for (int plane = 0; plane < kPlanes; ++plane, high += to_next) {
      if (is_there) store_words(high, uint2{first[plane], second[plane]});
    }
  }

  // Each team has one row.
  template <bool kWide>
  static __device__ __forceinline__ void split_long(const Planes& to, const float* source,
                                                    long long ld, unsigned k, unsigned block,
                                                    float* shared, float* exchange) {
    const int log2_team = ContiguousRows::log2_team(k);
    const unsigned team = 1U << log2_team;
    const unsigned own = threadIdx.x & (team - 1);
    const unsigned row = block * (blockDim.x >> log2_team) + (threadIdx.x >> log2_team);
    const bool is_row = row < to.rows;
    if (is_row && own == 0) to.words[row] = 0;
    const int of_warp = static_cast<int>(own / 32 * 128);  // the first of its neighbours
    const int step = 4 << log2_team;                       // from one vector to the next
    const float* next = source + (is_row ? row : 0) * ld + of_warp;
    int left = is_row ? static_cast<int>(k) - of_warp : 0;
    Vectors held;
#pragma unroll
    for (int i = 0; i < kVectors; ++i) held[i] = load<kWide>(next + i * step, left - i * step);
    next += kVectors * step;
    left -= kVectors * step;
    unsigned greatest = 0;
#pragma unroll
    for (int i = 0; i < kVectors; ++i) greatest = max(greatest, greatest_of(held[i]));
    put_in_order<kWide>(held, exchange);
#pragma unroll 1
    for (int at = 0; at < left; at += step) {
      greatest = max(greatest, greatest_of(load<kWide>(next + at, left - at)));
    }
    auto* const of_warps = reinterpret_cast<unsigned*>(shared);
    const unsigned warp = threadIdx.x / 32, warps = team / 32;
    greatest = greatest_of_warp(greatest);
    if (threadIdx.x % 32 == 0) of_warps[warp] = greatest;
    __syncthreads();
    greatest = greatest_of_warp(of_warps[(warp & ~(warps - 1)) + (threadIdx.x & (warps - 1))]);
    if (!is_row) return;  // whole warps
    const float scale = power_of_two(scale_exponent(greatest));
    if (own == 0) atomicAdd(to.words + row, word_of(greatest));
    // The team's next elements lie in the same places of later k_tiles.
    const long long to_next_step = to.k_tile_elements() * (step / kPlaneK);
    const long long to_next_plane = to.plane_elements();
    unsigned short* high = to.high + to.place(row, 4 * own);
    int stored = static_cast<int>(to.k_tiles * kPlaneK - 4 * own);  // from this thread's first on
    unsigned least = ~0U;
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      least = min(least, least_order(held[i]));
      store(high, to_next_plane, scaled(held[i], scale), stored > 0);
      high += to_next_step;
      stored -= step;
    }
    const unsigned limit = count_limit(scale, k);
    unsigned count = 0;
    if (least < limit) {
#pragma unroll
      for (int i = 0; i < kVectors; ++i) count += count_below(held[i], limit);
    }
    // All lanes take part in the exchange, so the warp goes on while its first lane has elements to
    // store.
    const int behind_first = static_cast<int>(threadIdx.x % 32 * 4);
#pragma unroll 1
    while (stored + behind_first > 0) {
      float4 v = load<kWide>(next, left);
      if (!kWide) {
        __syncwarp();
        put(v, exchange);
        __syncwarp();
        v = get(exchange);
      }
      store(high, to_next_plane, scaled(v, scale), stored > 0);
      count += count_below(v, limit);
      next += step;
      left -= step;
      high += to_next_step;
      stored -= step;
    }
    add_count(to.words + row, count);
  }

  // A warp has two rows of up to 256 elements, or four of up to 128.
  template <bool kWide>
  static __device__ __forceinline__ void split_short(const Planes& to, const float* source,
                                                     long long ld, unsigned k, unsigned block,
                                                     float* exchange) {
    const bool has_four = log2_team_rows(k) == 2;
    const unsigned lane = threadIdx.x % 32;
    const unsigned first_row = (block * (blockDim.x / 32) + threadIdx.x / 32) << log2_team_rows(k);
    if (first_row >= to.rows) return;
    const int rows = static_cast<int>(min(to.rows - first_row, 4U));
    const float* const from = source + first_row * ld;
    Vectors held;
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      const int row = has_four ? i : i / 2, at = has_four ? 0 : i % 2 * 128;
      held[i] = load<kWide>(from + row * ld + at, row < rows ? static_cast<int>(k) - at : 0);
    }
    unsigned greatest[kVectors];  // of a vector's row
#pragma unroll
    for (int i = 0; i < kVectors; ++i) greatest[i] = greatest_of(held[i]);
    put_in_order<kWide>(held, exchange);
    if (!has_four) {
      greatest[0] = greatest[1] = max(greatest[0], greatest[1]);
      greatest[2] = greatest[3] = max(greatest[2], greatest[3]);
    }
#pragma unroll
    for (int i = 0; i < kVectors; ++i) greatest[i] = greatest_of_warp(greatest[i]);
    if (lane < (has_four ? 4 : 2) && lane < rows) to.words[first_row + lane] = 0;
    __syncwarp();
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      const int row = has_four ? i : i / 2;
      const unsigned at = 4 * lane + (has_four ? 0 : i % 2 * 128);
      if (row >= rows || at >= to.k_tiles * kPlaneK) continue;
      unsigned* const word = to.words + first_row + row;
      if (at == 0) atomicAdd(word, word_of(greatest[i]));
      const float scale = power_of_two(scale_exponent(greatest[i]));
      store(to.high + to.place(first_row + row, at), to.plane_elements(), scaled(held[i], scale),
            true);
      add_count(word, count_below(held[i], count_limit(scale, k)));
    }
  }
};

}  // namespace autotune_device

#endif
