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
// There is no counterpart for the CPU device.
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
__device__ __forceinline__ bool has_even_rows(int k) {
  return PRODUCTS == 3 && k < 128;
}
// Returns the greatest word of a row that its planes hold: at most one element of 64 is counted, of
// 16 where rows have to be even. k < 2^21.
__device__ __forceinline__ unsigned last_split(int k) {
  return ((static_cast<unsigned>(k) / (has_even_rows(k) ? 16 : 64) + 1) << kExponentBits) - 1;
}

// The planes of one operand, seen as a matrix whose rows run along K. A plane is what shared memory
// is to hold: k_tile by k_tile all rows, with 64 elements (128 bytes) each, whose vectors of 16
// bytes are in the order of the 128-byte swizzle. Any rows from a multiple of 8 on are therefore
// one contiguous piece. Beyond K there are zeros; beyond the rows anything.
struct Planes {
  unsigned* words;       // of the rows; 256 more may be read behind the last
  unsigned short* high;  // the other planes are plane_elements() behind each other
  long long rows;
  unsigned k_tiles;

  __device__ __forceinline__ Planes(void* memory, long long rows_of_operand, long long k)
      : words(static_cast<unsigned*>(memory)),
        rows(rows_of_operand),
        k_tiles(static_cast<unsigned>((k - 1) / kPlaneK + 1)) {
    high = reinterpret_cast<unsigned short*>(words + (rows + 511) / 256 * 256);
  }
  __device__ __forceinline__ long long k_tile_elements() const {
    return (rows + 7) / 8 * 8 * kPlaneK;
  }
  __device__ __forceinline__ long long plane_elements() const {
    return k_tile_elements() * k_tiles;
  }
  __device__ __forceinline__ void* end() const { return high + kPlanes * plane_elements(); }

  // Returns an element's place in a plane.
  __device__ __forceinline__ long long place(long long row, int k) const {
    return k / kPlaneK * k_tile_elements() + row * kPlaneK + ((k / 8 ^ row) % 8) * 8 + k % 8;
  }
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
// Returns the exponent of the scale of a row with this greatest magnitude.
__device__ __forceinline__ int scale_exponent(unsigned greatest) {
  const int exponent = static_cast<int>(greatest >> 23) - 127;
  constexpr int kScaled = kPlanes == 3 ? 50 : 14;
  return exponent < kScaled - 126 ? 126 : kScaled - exponent;
}
// Returns the word of such a row if no element lost bits.
__device__ __forceinline__ unsigned word_of(unsigned greatest) {
  if (greatest >= magnitude(1.0f / 0.0f)) return kNotFinite;
  return static_cast<unsigned>(kExponentBias - scale_exponent(greatest));
}
// Returns the least magnitude of a scaled value that is not counted: it keeps 22 bits in two
// planes, or 11 in one. With three planes, products of high and low are then multiples of 2^-126.
// With the greatest scale, no smaller value has more bits than the planes.
__device__ __forceinline__ float least_exact(float scale, int k) {
  if (has_even_rows(k)) return 0x1p4f;
  if (scale == 0x1p126f) return 0;
  return kPlanes == 1 ? 0x1p-14f : kPlanes == 2 ? 0x1p-15f : 0x1p-48f;
}
__device__ __forceinline__ unsigned loses_bits(float scaled, float least) {
  return fabsf(scaled) < least && scaled != 0;
}
// Counts elements of a row that lost bits. Its word was set to 0 before.
__device__ __forceinline__ void count_lost(unsigned* word, unsigned lost) {
  if (lost > 0) atomicAdd(word, lost << kExponentBits);
}

// Returns whether neighbours can be loaded by vectors of 4.
__device__ __forceinline__ bool is_wide(const float* source, long long ld) {
  return ld % 4 == 0 && reinterpret_cast<unsigned long long>(source) % 16 == 0;
}
// Loads 4 neighbours, of which `left` are there; the others are 0. wide: their address is a
// multiple of 16 bytes. The L2 cache gives up what is read before the planes that are stored.
__device__ __forceinline__ float4 load4(const float* from, int left, bool wide) {
  if (wide && left >= 4) return __ldcs(reinterpret_cast<const float4*>(from));
  return {left > 0 ? from[0] : 0, left > 1 ? from[1] : 0, left > 2 ? from[2] : 0,
          left > 3 ? from[3] : 0};
}

// Splits operands whose rows are contiguous: `team` threads (32 to 256, a power of two) read a row,
// once if it has at most kHeld * team elements, or a warp reads two or four short rows. shared:
// kSplitThreads + 32 floats, and behind them kExchanged for each thread.
struct ContiguousRows {
  static constexpr int kVectors = 4;  // of 4 elements, that a thread holds
  static constexpr int kHeld = 4 * kVectors;
  static constexpr int kExchanged = 4;

  static __device__ __forceinline__ int team(int k) {
    int threads = 32;
    while (threads < static_cast<int>(blockDim.x) && kHeld * threads < k) threads *= 2;
    return threads;
  }
  // Returns the rows that a team reads.
  static __device__ __forceinline__ int team_rows(int k) { return k <= 128 ? 4 : k <= 256 ? 2 : 1; }

  // Returns the blocks that an operand needs: whole clusters.
  static __device__ __forceinline__ unsigned blocks(long long rows, int k) {
    const long long rows_of_cluster = kSplitBlocks * (blockDim.x / team(k)) * team_rows(k);
    return static_cast<unsigned>((rows - 1) / rows_of_cluster + 1) * kSplitBlocks;
  }

  // Loads 128 neighbours with a warp, beginning at `from`, of which `left` are there. With `wide` a
  // lane has 4 neighbours; else neighbouring lanes load neighbours, and the lane has those that are
  // 32 apart (see in_order).
  static __device__ __forceinline__ float4 load(const float* from, int left, bool wide) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if (wide) return load4(from + 4 * lane, left - 4 * lane, true);
    from += lane;
    left -= lane;
    return {left > 0 ? __ldcs(from) : 0, left > 32 ? __ldcs(from + 32) : 0,
            left > 64 ? __ldcs(from + 64) : 0, left > 96 ? __ldcs(from + 96) : 0};
  }
  // Returns the lane's 4 neighbours of what load() has loaded. exchange: of the warp.
  static __device__ __forceinline__ float4 in_order(float4 v, bool wide, float* exchange) {
    if (wide) return v;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    __syncwarp();
    exchange[lane] = v.x;
    exchange[lane + 32] = v.y;
    exchange[lane + 64] = v.z;
    exchange[lane + 96] = v.w;
    __syncwarp();
    return reinterpret_cast<const float4*>(exchange)[lane];
  }

  static __device__ __forceinline__ unsigned greatest_of(float4 v) {
    return max(max(magnitude(v.x), magnitude(v.y)), max(magnitude(v.z), magnitude(v.w)));
  }
  // Returns how many elements are counted. next: the place in the second plane.
  static __device__ __forceinline__ unsigned store(unsigned short* high, unsigned short* next,
                                                   float4 v, float scale, int k) {
    v = {v.x * scale, v.y * scale, v.z * scale, v.w * scale};
    unsigned first[kPlanes], second[kPlanes];
    split2(v.x, v.y, first);
    split2(v.z, v.w, second);
    const long long to_next = next - high;
#pragma unroll
    for (int plane = 0; plane < kPlanes; ++plane, high += to_next) {
      store_words(high, uint2{first[plane], second[plane]});
    }
    const float least = least_exact(scale, k);
    return loses_bits(v.x, least) + loses_bits(v.y, least) + loses_bits(v.z, least) +
           loses_bits(v.w, least);
  }

  static __device__ __forceinline__ void split(const Planes& to, const float* source, long long ld,
                                               int k, unsigned block, float* shared) {
    if (team_rows(k) > 1) {
      split_short(to, source, ld, k, block, shared);
    } else {
      split_long(to, source, ld, k, block, shared);
    }
  }

 private:
  static __device__ __forceinline__ unsigned greatest_of_warp(unsigned greatest) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
      greatest = max(greatest, __shfl_xor_sync(~0u, greatest, step));
    }
    return greatest;
  }
  static __device__ __forceinline__ float* exchange_of_warp(float* shared) {
    return shared + kSplitThreads + 32 + threadIdx.x / 32 * 32 * kExchanged;
  }

  // Each team has one row.
  static __device__ __forceinline__ void split_long(const Planes& to, const float* source,
                                                    long long ld, int k, unsigned block,
                                                    float* shared_floats) {
    auto* const shared = reinterpret_cast<unsigned*>(shared_floats);
    const int team = ContiguousRows::team(k);
    const int own = threadIdx.x % team;
    const long long row = static_cast<long long>(block) * (blockDim.x / team) + threadIdx.x / team;
    const bool is_row = row < to.rows;
    const float* const from = source + (is_row ? row : 0) * ld;
    const bool wide = is_wide(source, ld);
    const int count = is_row ? k : 0;
    const int of_warp = own / 32 * 128;  // the first of its neighbours
    float4 held[kVectors];
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      const int at = 4 * i * team + of_warp;
      held[i] = load(from + at, count - at, wide);
    }
    unsigned greatest = 0;
#pragma unroll
    for (int i = 0; i < kVectors; ++i) greatest = max(greatest, greatest_of(held[i]));
    const int first_not_held = 4 * kVectors * team + of_warp;
#pragma unroll 1
    for (int at = first_not_held; at < count; at += 4 * team) {
      greatest = max(greatest, greatest_of(load(from + at, count - at, wide)));
    }
    greatest = greatest_of_warp(greatest);
    const int warp = static_cast<int>(threadIdx.x) / 32;
    if (threadIdx.x % 32 == 0) shared[warp] = greatest;
    if (is_row && own == 0) to.words[row] = 0;
    __syncthreads();
    for (int i = 0; i < team / 32; ++i) {
      greatest = max(greatest, shared[warp / (team / 32) * (team / 32) + i]);
    }
    if (!is_row) return;  // whole warps
    float* const exchange = exchange_of_warp(shared_floats);
    const float scale = power_of_two(scale_exponent(greatest));
    if (own == 0) atomicAdd(to.words + row, word_of(greatest));
    // The team's next elements lie in the same places of later k_tiles.
    const long long step = to.k_tile_elements() * (4 * team / kPlaneK);
    const int padded = static_cast<int>(to.k_tiles) * kPlaneK;
    unsigned short* high = to.high + to.place(row, 4 * own);
    const long long to_next = to.plane_elements();
    unsigned lost = 0;
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      const float4 v = in_order(held[i], wide, exchange);
      if (4 * (i * team + own) < padded) lost += store(high, high + to_next, v, scale, k);
      high += step;
    }
#pragma unroll 1
    for (int at = first_not_held; at < padded; at += 4 * team) {
      const float4 v = in_order(load(from + at, k - at, wide), wide, exchange);
      if (at + 4 * (own % 32) < padded) lost += store(high, high + to_next, v, scale, k);
      high += step;
    }
    count_lost(to.words + row, lost);
  }

  // A warp has two rows of up to 256 elements, or four of up to 128.
  static __device__ __forceinline__ void split_short(const Planes& to, const float* source,
                                                     long long ld, int k, unsigned block,
                                                     float* shared) {
    const bool has_four = team_rows(k) == 4;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const long long first_row =
        (static_cast<long long>(block) * (blockDim.x / 32) + threadIdx.x / 32) * (has_four ? 4 : 2);
    if (first_row >= to.rows) return;
    const int rows = to.rows - first_row < 4 ? static_cast<int>(to.rows - first_row) : 4;
    const bool wide = is_wide(source, ld);
    const float* const from = source + first_row * ld;
    float4 held[kVectors];
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      const int row = has_four ? i : i / 2, at = has_four ? 0 : i % 2 * 128;
      held[i] = load(from + row * ld + at, row < rows ? k - at : 0, wide);
    }
    unsigned greatest[kVectors];  // of a vector's row
#pragma unroll
    for (int i = 0; i < kVectors; ++i) greatest[i] = greatest_of(held[i]);
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
      const float4 v = in_order(held[i], wide, exchange_of_warp(shared));
      const int row = has_four ? i : i / 2;
      const int at = 4 * lane + (has_four ? 0 : i % 2 * 128);
      if (row >= rows || at >= static_cast<int>(to.k_tiles) * kPlaneK) continue;
      unsigned* const word = to.words + first_row + row;
      if (at == 0) atomicAdd(word, word_of(greatest[i]));
      unsigned short* const high = to.high + to.place(first_row + row, at);
      const float scale = power_of_two(scale_exponent(greatest[i]));
      count_lost(word, store(high, high + to.plane_elements(), v, scale, k));
    }
  }
};

// Splits operands whose rows are strided: the blocks of a cluster split 32 rows, each a part of K.
// A block keeps held() elements of each row of its part in shared memory between the search for the
// greatest magnitude and the split, and reads the others again.
struct StridedRows {
  static constexpr int kRows = 32;
  static constexpr int kPitch = kRows + 1;
  static constexpr int kAtOnce = 4;  // loads of a thread that are in flight

  static __device__ __forceinline__ unsigned blocks(long long rows, int) {
    return static_cast<unsigned>((rows - 1) / kRows + 1) * kSplitBlocks;
  }
  static __device__ __forceinline__ int held(unsigned k_tiles) {
    return k_tiles < 128 ? static_cast<int>(k_tiles + 7) / 8 * 64 : 1024;
  }

  static __device__ __forceinline__ void split(const Planes& to, const float* source, long long ld,
                                               int k, unsigned block, float* shared) {
    auto* const of_warps = reinterpret_cast<unsigned*>(shared);
    float* const scales = shared;                        // kRows, later in the same place
    float* const tile = shared + kSplitThreads + kRows;  // held * kPitch
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int held = StridedRows::held(to.k_tiles);
    // Parts are whole k_tiles, so that no two blocks store to the same sector of the L2 cache.
    const int most = static_cast<int>((to.k_tiles + kSplitBlocks - 1) / kSplitBlocks) * kPlaneK;
    const long long first_row = static_cast<long long>(block / kSplitBlocks) * kRows;
    const int first_k = static_cast<int>(block % kSplitBlocks) * most;
    const int left = static_cast<int>(to.k_tiles) * kPlaneK - first_k;
    const int part = left < most ? left : most;  // of the last blocks it may be none
    const int count = first_k >= k ? 0 : k - first_k < part ? k - first_k : part;

    uint4 greatest = {};
    const float* const from = source + first_k * ld + first_row;
    load(from, ld, to.rows - first_row, count, held, tile, greatest);
    const bool has_word = first_k == 0 && threadIdx.x < 32 && first_row + lane < to.rows;
    if (has_word) to.words[first_row + lane] = 0;
    const unsigned of_row =
        greatest_of_row(greatest, is_wide(from, ld), of_warps, of_warps + kSplitThreads);
    if (threadIdx.x < 32) scales[lane] = power_of_two(scale_exponent(of_row));
    if (has_word) atomicAdd(to.words + first_row + lane, word_of(of_row));
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
    __syncthreads();
    for (int begin = 0; begin < part; begin += held) {
      const int there = count - begin;  // behind them there are zeros
      if (begin > 0) {
        __syncthreads();
        load(from + begin * ld, ld, to.rows - first_row, there < held ? there : held, held, tile,
             greatest);
        __syncthreads();
      }
      store(to, k, tile, scales, first_row, first_k + begin, there,
            part - begin < held ? part - begin : held);
    }
    // Others may still read this block's.
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
  }

 private:
  // Loads 4 elements of one row, of which `left` are there; the others are 0.
  static __device__ __forceinline__ float4 load_row(const float* from, long long ld, int left) {
    return {left > 0 ? __ldcs(from) : 0, left > 1 ? __ldcs(from + ld) : 0,
            left > 2 ? __ldcs(from + 2 * ld) : 0, left > 3 ? __ldcs(from + 3 * ld) : 0};
  }

  // Loads `count` elements of K of the strip, the first `held` of them to the tile. A warp loads
  // the 32 neighbours of 4 elements of K at a time. Where it can, a lane loads a vector of 4 rows
  // and keeps their greatest magnitudes; else it loads one row.
  static __device__ __forceinline__ void load(const float* source, long long ld, long long rows,
                                              int count, int held, float* tile, uint4& greatest) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const bool wide = is_wide(source, ld);
    const int row = wide ? lane % 8 * 4 : lane;
    const int left = rows - row < 4 ? static_cast<int>(rows - row) : 4;
    const int first = static_cast<int>(threadIdx.x) / 32 * 4 + (wide ? lane / 8 : 0);
    const int step = static_cast<int>(blockDim.x) / 8;  // elements of K that all threads load
    const int pitch = wide ? 1 : kPitch;                // of a lane's elements
    const float* next = source + first * ld + row;
    for (int base = first; base < count; base += step * kAtOnce) {
      float4 v[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int there = count - base - i * step;
        v[i] = wide ? load4(next, there > 0 ? left : 0, true)
                    : load_row(next, ld, left > 0 ? there : 0);
        next += step * ld;
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        greatest.x = max(greatest.x, magnitude(v[i].x));
        greatest.y = max(greatest.y, magnitude(v[i].y));
        greatest.z = max(greatest.z, magnitude(v[i].z));
        greatest.w = max(greatest.w, magnitude(v[i].w));
        if (base + i * step >= held) continue;
        float* const to = tile + (base + i * step) * kPitch + row;
        to[0] = v[i].x;
        to[pitch] = v[i].y;
        to[2 * pitch] = v[i].z;
        to[3 * pitch] = v[i].w;
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

  // Returns the greatest magnitude of the lane's row, in the first warp. own: what load() has kept,
  // with `wide` of 4 rows. of_warps: kSplitThreads words; of_part: kRows words, which other blocks
  // read.
  static __device__ __forceinline__ unsigned greatest_of_row(uint4 own, bool wide,
                                                             unsigned* of_warps,
                                                             unsigned* of_part) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if (wide) {
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
      for (int i = lane; i < static_cast<int>(blockDim.x); i += 32) {
        greatest = max(greatest, of_warps[i]);
      }
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

  // Splits `count` elements of each row, of which `there` are in the tile. 8 lanes store 64
  // neighbours of a row.
  static __device__ __forceinline__ void store(const Planes& to, int k_of_problem,
                                               const float* tile, const float* scales,
                                               long long first_row, int first_k, int there,
                                               int count) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const long long to_next = to.plane_elements();
    for (int item = static_cast<int>(threadIdx.x) / 32; item < (count + 63) / 64 * (kRows / 4);
         item += static_cast<int>(blockDim.x) / 32) {
      const int row = item % (kRows / 4) * 4 + lane / 8;
      const int k = item / (kRows / 4) * 64 + lane % 8 * 8;
      if (k >= count || first_row + row >= to.rows) continue;
      const float scale = scales[row];
      float v[8];
#pragma unroll
      for (int i = 0; i < 8; ++i) v[i] = k + i < there ? tile[(k + i) * kPitch + row] * scale : 0;
      unsigned lost = 0;
#pragma unroll
      for (int i = 0; i < 8; ++i) lost += loses_bits(v[i], least_exact(scale, k_of_problem));
      count_lost(to.words + first_row + row, lost);
      unsigned words[4][kPlanes];
#pragma unroll
      for (int i = 0; i < 4; ++i) split2(v[2 * i], v[2 * i + 1], words[i]);
      unsigned short* at = to.high + to.place(first_row + row, first_k + k);
#pragma unroll
      for (int plane = 0; plane < kPlanes; ++plane, at += to_next) {
        store_words(at, uint4{words[0][plane], words[1][plane], words[2][plane], words[3][plane]});
      }
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
