// FP32 operands as planes of FP16 or BF16, for kernels that multiply them with tensor cores
// (compute capability 9.0). Each row of op(A) and each column of op(B) is scaled by a power of two
// that brings its greatest magnitude to [2^14, 2^15). For kernels with three products it is then
// split into FP16:
//   x = (high + 2^-12 * low) * 2^exponent, with 22 bits of x
// for elements down to 2^-29 of the greatest magnitude; the error of smaller ones is at most 2^-51
// of it. Kernels with one product have the plane `high` alone, with 11 bits of x for elements down
// to 2^-28 of the greatest magnitude; the error of smaller ones is at most 2^-39 of it. For kernels
// with six products the greatest magnitude is in [2^50, 2^51), and x is split into BF16:
//   x = (high + middle + low) * 2^exponent, with all 24 bits of x;
// where elements are at least 2^-98 of the greatest magnitude, their products do not underflow.
// Elements that lost bits, or that are smaller than that, are counted: a row with many of them is
// not to be computed from its planes (see last_split), and neither is one with an infinity or NaN.
// Where rows have to be even, elements below 2^-10 of the greatest magnitude are counted.
// All of it is for GPUs alone.
//
// The kernel defines PRODUCTS before it includes this file: the products of planes, 1, 3 or 6, that
// it computes for one of FP32.
#pragma once

#include "barrier.cuh"

#ifdef __CUDACC__

namespace autotune_device {

constexpr int kPlanes = PRODUCTS == 1 ? 1 : PRODUCTS == 3 ? 2 : 3;  // of an operand
constexpr int kPlaneK = 64;                                         // elements of K in a k_tile
constexpr int kSplitThreads = 256;                                  // of a block, at most
constexpr int kSplitBlocks = 8;                                     // of a cluster
constexpr float kLowScale = kPlanes == 3 ? 1 : 0x1p-12F;            // of all planes but `high`
// The word of a row: its exponent plus kExponentBias, above that the number of its elements that
// lost bits, and kNotFinite if it has an infinity or NaN.
constexpr unsigned kExponentBits = 10;
constexpr int kExponentBias = 512;
constexpr unsigned kNotFinite = 1U << 31;

__device__ __forceinline__ int exponent_of(unsigned word) {
  return static_cast<int>(word % (1U << kExponentBits)) - kExponentBias;
}
// Returns whether rows have to be even: a sum that is nearly one product has a smaller error in
// FP32 than with three products, unless K is long.
__device__ __forceinline__ bool has_even_rows(unsigned k) {
  return PRODUCTS == 3 && k < 128;
}
// Returns the greatest word of a row that its planes hold: at most one element of 64 is counted, of
// 16 where rows have to be even. k < 2^21.
__device__ __forceinline__ unsigned last_split(unsigned k) {
  return ((k / (has_even_rows(k) ? 16 : 64) + 1) << kExponentBits) - 1;
}

// The planes of one operand, seen as a matrix whose rows run along K. A plane is what shared memory
// is to hold: k_tile by k_tile all rows, with 64 elements (128 bytes) each, whose vectors of 16
// bytes are in the order of the 128-byte swizzle. Any rows from a multiple of 8 on are therefore
// one contiguous piece. Beyond K there are zeros; beyond the rows anything.
struct Planes {
  unsigned* words;       // of the rows; 256 more may be read behind the last
  unsigned short* high;  // the other planes are plane_elements() behind each other
  unsigned rows, k_tiles;

  __device__ __forceinline__ Planes(void* memory, long long rows_of_operand, long long k)
      : words(static_cast<unsigned*>(memory)),
        rows(static_cast<unsigned>(rows_of_operand)),
        k_tiles((static_cast<unsigned>(k) - 1) / kPlaneK + 1) {
    // The compiler would compute with 64 bits.
    asm("" : "+r"(rows), "+r"(k_tiles));
    high = reinterpret_cast<unsigned short*>(words + (rows + 511) / 256 * 256);
  }
  __device__ __forceinline__ long long k_tile_elements() const {
    return static_cast<long long>(stored_rows()) * kPlaneK;
  }
  __device__ __forceinline__ long long plane_elements() const {
    return static_cast<long long>(stored_rows()) * k_tiles * kPlaneK;
  }
  __device__ __forceinline__ void* end() const { return high + kPlanes * plane_elements(); }

  // Returns an element's place in a plane.
  __device__ __forceinline__ long long place(unsigned row, unsigned k) const {
    const long long line = static_cast<long long>(k / kPlaneK) * stored_rows() + row;
    return line * kPlaneK + ((k / 8 ^ row) % 8) * 8 + k % 8;
  }

 private:
  __device__ __forceinline__ unsigned stored_rows() const { return (rows + 7) / 8 * 8; }
};

// The planes of both operands: those that were prepared before, else in `memory`, where each has a
// place in any case.
struct OperandPlanes {
  Planes a, b;
  void* end;  // of both places

  // prepared_a, prepared_b: planes that were prepared before, or nullptr.
  __device__ __forceinline__ OperandPlanes(void* memory, void* prepared_a, void* prepared_b,
                                           long long m, long long n, long long k)
      : a(memory, m, k), b(a.end(), n, k), end(b.end()) {
    if (prepared_a != nullptr) a = Planes(prepared_a, m, k);
    if (prepared_b != nullptr) b = Planes(prepared_b, n, k);
  }
};

// Rounds two values to the planes' type, in one word.
__device__ __forceinline__ unsigned pack2(float first, float second) {
  unsigned packed;
  if constexpr (kPlanes == 3) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(second), "f"(first));
  } else {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(second), "f"(first));
  }
  return packed;
}
__device__ __forceinline__ void unpack2(unsigned packed, float& first, float& second) {
  if constexpr (kPlanes == 3) {
    first = __uint_as_float(packed << 16);
    second = __uint_as_float(packed & 0xffff0000U);
  } else {
    asm("{\n.reg .f16 x, y;\nmov.b32 {x, y}, %2;\ncvt.f32.f16 %0, x;\ncvt.f32.f16 %1, y;\n}"
        : "=f"(first), "=f"(second)
        : "r"(packed));
  }
}

// Splits two scaled values into one word of each plane.
__device__ __forceinline__ void split2(float x, float y, unsigned (&words)[kPlanes]) {
#pragma unroll
  for (int plane = 0; plane < kPlanes; ++plane) {
    words[plane] = pack2(x, y);
    float rounded_x, rounded_y;
    unpack2(words[plane], rounded_x, rounded_y);
    x = (x - rounded_x) / kLowScale;
    y = (y - rounded_y) / kLowScale;
  }
}

// Stores words of a plane with one instruction. The compiler stores the members of such vectors one
// by one, which takes an access of the L2 cache for each.
__device__ __forceinline__ void store_words(unsigned short* to, uint2 words) {
  asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(to), "r"(words.x), "r"(words.y));
}
__device__ __forceinline__ void store_words(unsigned short* to, uint4 words) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(words.x), "r"(words.y),
               "r"(words.z), "r"(words.w));
}

__device__ __forceinline__ float power_of_two(int exponent) {  // -126 to 127
  return __uint_as_float(static_cast<unsigned>(exponent + 127) << 23);
}

// The magnitude of a value as a number that grows with it; infinities and NaN are greatest.
__device__ __forceinline__ unsigned magnitude(float x) {
  return __float_as_uint(x) & 0x7fffffffU;
}
constexpr unsigned kInfinite = 0x7f800000;  // of an infinity
// A number that grows with the magnitude of a value, but is greatest for 0.
__device__ __forceinline__ unsigned order_of(float x) {
  return 2 * __float_as_uint(x) - 1;
}
// Returns the exponent of the scale of a row with this greatest magnitude.
__device__ __forceinline__ int scale_exponent(unsigned greatest) {
  const int exponent = static_cast<int>(greatest >> 23) - 127;
  constexpr int kScaled = kPlanes == 3 ? 50 : 14;
  return exponent < kScaled - 126 ? 126 : kScaled - exponent;
}
// Returns the word of such a row if no element lost bits.
__device__ __forceinline__ unsigned word_of(unsigned greatest) {
  if (greatest >= kInfinite) return kNotFinite;
  return static_cast<unsigned>(kExponentBias - scale_exponent(greatest));
}
// Returns the order_of() of the least magnitude of a row that is not counted. Two planes hold 22
// bits of an element from there on, and one holds 11. With three planes, products of high and low
// are then multiples of 2^-126. With the greatest scale, no element has more bits than the planes.
__device__ __forceinline__ unsigned count_limit(float scale, unsigned k) {
  constexpr float kLeast = kPlanes == 1 ? 0x1p-14f : kPlanes == 2 ? 0x1p-15f : 0x1p-48f;
  const float scaled = has_even_rows(k) ? 0x1p4f : scale == 0x1p126f ? 0 : kLeast;
  // The limit holds for elements without the scale, because that turns the smallest into zeros.
  const float least = scaled * __uint_as_float(0x7f000000U - __float_as_uint(scale));
  return least == 0 ? 0 : order_of(least);
}
// Adds to a row's count, if there is something to add. Its word was set to 0 before.
__device__ __forceinline__ void add_count(unsigned* word, unsigned count) {
  if (count > 0) atomicAdd(word, count << kExponentBits);
}

// Returns whether neighbours can be loaded by vectors of 4.
__device__ __forceinline__ bool is_wide(const float* source, long long ld) {
  return ld % 4 == 0 && reinterpret_cast<unsigned long long>(source) % 16 == 0;
}
// Loads 4 neighbours at a multiple of 16 bytes, of which `left` are there; the others are 0. The L2
// cache gives up what is read before the planes that are stored.
__device__ __forceinline__ float4 load4(const float* from, int left) {
  if (left >= 4) return __ldcs(reinterpret_cast<const float4*>(from));
  return {left > 0 ? from[0] : 0, left > 1 ? from[1] : 0, left > 2 ? from[2] : 0, 0};
}
// Loads 4 elements that are `step` apart, of which `left` are there; the others are 0. Where a warp
// has all of them, it takes one branch instead of four predicates.
template <typename Step>
__device__ __forceinline__ float4 load4_apart(const float* from, Step step, int left) {
  if (left >= 4) {
    return {__ldcs(from), __ldcs(from + step), __ldcs(from + 2 * step), __ldcs(from + 3 * step)};
  }
  return {left > 0 ? __ldcs(from) : 0, left > 1 ? __ldcs(from + step) : 0,
          left > 2 ? __ldcs(from + 2 * step) : 0, 0};
}

// Splits operands whose rows are contiguous: a team of 32 to 256 threads, a power of two, reads a
// row, once if it has at most kHeld elements for each thread; or a warp reads two or four short
// rows. shared: kSplitThreads + 32 floats, and behind them kHeld for each thread.
struct ContiguousRows {
  static constexpr int kVectors = 4;  // of 4 elements, that a thread holds
  static constexpr unsigned kHeld = 4 * kVectors;

  // Returns the logarithm to base 2 of the threads of a team.
  static __device__ __forceinline__ int log2_team(unsigned k) {
    const int holding = 32 - __clz(static_cast<int>((k - 1) / kHeld));
    return min(max(holding, 5), log2_of(blockDim.x));
  }
  // The same of the rows that a team reads.
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
    float* const exchange = shared + kSplitThreads + 32 + threadIdx.x / 32 * 32 * kHeld;
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
    // The warp goes on while its first lane has elements to store.
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

// Splits operands whose rows are strided: the blocks of a cluster split 32 rows, each a part of K.
// A block keeps held() elements of each row of its part in shared memory between the search for the
// greatest magnitude and the split, and reads the others again.
struct StridedRows {
  static constexpr unsigned kRows = 32;
  static constexpr int kPitch = kRows + 1;
  static constexpr int kAtOnce = 4;  // loads of a thread that are in flight

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
  // Where rows can be loaded by vectors of 4 (kWide), a lane loads 4 rows of one k; else 4 k of one
  // row.
  template <bool kWide>
  static __device__ __forceinline__ void split_strip(const Planes& to, const float* source,
                                                     long long ld, unsigned k, unsigned block,
                                                     float* shared) {
    auto* const of_warps = reinterpret_cast<unsigned*>(shared);
    float* const scales = shared;                        // kRows, later in the same place
    float* const tile = shared + kSplitThreads + kRows;  // held * kPitch
    const unsigned lane = threadIdx.x % 32;
    const int held = StridedRows::held(to.k_tiles);
    // Parts are whole k_tiles, so that no two blocks store to the same sector of the L2 cache.
    const unsigned most = (to.k_tiles + kSplitBlocks - 1) / kSplitBlocks;
    const unsigned first_k_tile = min(block % kSplitBlocks * most, to.k_tiles);
    const int part = static_cast<int>(min(most, to.k_tiles - first_k_tile) * kPlaneK);
    const unsigned first_row = block / kSplitBlocks * kRows;
    const unsigned first_k = first_k_tile * kPlaneK;
    const int left = static_cast<int>(k - first_k);  // behind them there are zeros
    const unsigned rows = min(to.rows - first_row, kRows);

    // The word is set to 0 before the loads, so that the cluster's barrier does not wait for it.
    const bool has_word = first_k == 0 && threadIdx.x < rows;
    if (has_word) to.words[first_row + lane] = 0;
    uint4 greatest = {};
    const float* const from = source + first_k * ld + first_row;
    load<kWide>(from, ld, rows, left, part, held, tile, greatest);
    const unsigned of_row = greatest_of_row<kWide>(greatest, of_warps, of_warps + kSplitThreads);
    if (threadIdx.x < kRows) scales[lane] = power_of_two(scale_exponent(of_row));
    if (has_word) atomicAdd(to.words + first_row + lane, word_of(of_row));
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
    __syncthreads();
    for (int begin = 0; begin < part; begin += held) {
      const int count = min(part - begin, held);
      if (begin > 0) {
        __syncthreads();
        load<kWide>(from + begin * ld, ld, rows, left - begin, count, held, tile, greatest);
        __syncthreads();
      }
      store(to, k, tile, scales, first_row, first_k + begin, count);
    }
    // Others may still read this block's.
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
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

  static __device__ __forceinline__ unsigned load_from_block(const unsigned* own, int block) {
    unsigned value;
    asm volatile("ld.shared::cluster.u32 %0, [%1];"
                 : "=r"(value)
                 : "r"(cluster_address(shared_address(own), block))
                 : "memory");
    return value;
  }

  // Returns the greatest magnitude of the lane's row, in the first warp. own: what load() has kept.
  // of_warps: kSplitThreads words; of_part: kRows words, which other blocks read.
  template <bool kWide>
  static __device__ __forceinline__ unsigned greatest_of_row(uint4 own, unsigned* of_warps,
                                                             unsigned* of_part) {
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
    __syncthreads();
    unsigned greatest = 0;
    if (threadIdx.x < 32) {
      for (unsigned i = lane; i < blockDim.x; i += 32) greatest = max(greatest, of_warps[i]);
      of_part[lane] = greatest;
    }
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    if (threadIdx.x < 32) {
#pragma unroll
      for (int i = 0; i < kSplitBlocks; ++i) {
        greatest = max(greatest, load_from_block(of_part + lane, i));
      }
    }
    return greatest;
  }

  // Splits `count` elements of each row, whole k_tiles. A warp has 4 rows at a time, and 8 lanes
  // store the 64 neighbours of one.
  static __device__ __forceinline__ void store(const Planes& to, unsigned k_of_problem,
                                               const float* tile, const float* scales,
                                               unsigned first_row, unsigned first_k, int count) {
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
      unsigned lost = 0;
#pragma unroll 1
      for (int left = count; left > 0; left -= kPlaneK) {
        float v[8];
#pragma unroll
        for (int i = 0; i < 8; ++i) v[i] = from[i * kPitch];
        // One comparison tells that no element is counted, as mostly.
        unsigned least = ~0U;
#pragma unroll
        for (int i = 0; i < 8; ++i) least = min(least, order_of(v[i]));
        if (least < limit) {
#pragma unroll
          for (int i = 0; i < 8; ++i) lost += order_of(from[i * kPitch]) < limit;
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
      add_count(to.words + first_row + row, lost);
    }
  }
};

template <bool kContiguous>
struct RowsOf {
  using Type = ContiguousRows;
};
template <>
struct RowsOf<false> {
  using Type = StridedRows;
};
template <bool kContiguous>
using Rows = typename RowsOf<kContiguous>::Type;

}  // namespace autotune_device

#endif
