// gemm_skinny: C = alpha * op(A) * op(B) + beta * C where C has few rows or few columns, in strict
// FP32. Such a product is bound by reading the larger operand once; so every thread reads that one
// straight into registers, the next part of it before it multiplies the last, and no element of it
// passes through shared memory. The few lines of the other operand are read again and again, from
// shared memory.
//
// A "line" is a row of op(A) or a column of op(B), K elements. Of a warp's lanes LANES_K share K,
// and the others lie side by side along the lines, LINES of them for each. Where memory holds a
// line's elements side by side, many lanes along K read neighbours; else few do.
//
// Warps of a block (SLICES) and blocks (SPLIT_K) take parts of K, which are added in an order that
// is always the same: two runs give the same bits.
//
// Matrices are row-major with leading dimensions in elements; 1 <= m, n, k < 2^31, any alignment,
// any shape. Launch: kThreads threads, kSharedFloats of dynamic shared memory; blocks along x: as
// many as C has tiles, times the parts of K. scratch: see kernel_template.hpp.

// Which operand has few lines. 0: op(A). 1: op(B).
#ifndef FEW_SIDE
#define FEW_SIDE 0
#endif

// Lines of that operand that a block multiplies with: 1, 2, 4, 8, 16 or 32.
#ifndef FEW
#define FEW 1
#endif

// Lines of the other operand for one lane: 1, 2, 4 or 8.
#ifndef LINES
#define LINES 4
#endif

// Lanes of a warp along K: 1, 4, 8 or 32. The others are side by side.
#ifndef LANES_K
#define LANES_K 4
#endif

// Warps of a block, side by side (1, 2, 4 or 8) and along K (1, 2, 4, 8, 16 or 32).
#ifndef WARPS
#define WARPS 1
#endif
#ifndef SLICES
#define SLICES 8
#endif

// Elements of K that a thread has under way at a time: 4, 8 or 16.
#ifndef UNROLL
#define UNROLL 8
#endif

// Blocks that share the work of one tile: 1, or with any larger value as many as the launch has for
// each.
#ifndef SPLIT_K
#define SPLIT_K 1
#endif

// Percent of the large operand that the L2 cache is asked to keep for the next launch. An operand
// that is somewhat larger than the cache would otherwise push itself out, launch after launch.
#ifndef KEEP
#define KEEP 0
#endif

// Not tuned but given by the problem. 1: memory holds the transpose of op(A), of op(B).
#ifndef TRANSPOSE_A
#define TRANSPOSE_A 0
#endif
#ifndef TRANSPOSE_B
#define TRANSPOSE_B 0
#endif

#include "device/launch_order.cuh"
#include "device/vector.cuh"
#include "device/visibility.cuh"

constexpr bool kAlongK = FEW_SIDE == 0 ? TRANSPOSE_B : !TRANSPOSE_A;  // the large operand's lines
constexpr bool kFewAlongK = FEW_SIDE == 0 ? !TRANSPOSE_A : TRANSPOSE_B;
constexpr int kThreads = 32 * WARPS * SLICES;
constexpr int kAcross = 32 / LANES_K;  // lanes of a warp side by side
constexpr int kBlockLines = WARPS * LINES * kAcross;
constexpr int kTile = FEW * kBlockLines;
// Groups of threads that each add up some of the blocks' parts of a tile.
constexpr int kGroups = kTile >= kThreads ? 1 : kThreads / kTile < 32 ? kThreads / kTile : 32;
// A lane's elements that one instruction can read: kNeighbours lines of one k, or kRun k of a line.
constexpr int kNeighbours = kAlongK ? 1 : LINES < 4 ? LINES : 4;
constexpr int kRun = kAlongK ? 4 : 1;
// The place of a lane's line from its first.
__device__ constexpr int line_offset(int line) {
  return line / kNeighbours * kAcross * kNeighbours + line % kNeighbours;
}
// Elements of K that a warp takes at a time.
constexpr int kBatch = UNROLL * LANES_K;
constexpr int kCounters = 1 << 16;  // at the start of the scratch, zero between launches

// The machine's own words, and what they mean on a processor that runs one thread at a time.
#ifdef __CUDA_ARCH__

using CachePolicy = unsigned long long;
__device__ __forceinline__ CachePolicy keeping_policy() {
  CachePolicy policy = 0;
  if (KEEP > 0) {
    asm("createpolicy.fractional.L2::evict_last.L2::evict_first.b64 %0, %1;"
        : "=l"(policy)
        : "f"(KEEP / 100.0f));
  }
  return policy;
}

// Elements that this launch does not need again.
template <int kElements>
__device__ __forceinline__ Vector<kElements> read_once(const float* from, CachePolicy policy) {
  Vector<kElements> v;
  if constexpr (kElements == 4 && KEEP > 0) {
    asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=f"(v.at[0]), "=f"(v.at[1]), "=f"(v.at[2]), "=f"(v.at[3])
                 : "l"(from), "l"(policy));
  } else if constexpr (kElements == 4) {
    asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.at[0]), "=f"(v.at[1]), "=f"(v.at[2]), "=f"(v.at[3])
                 : "l"(from));
  } else if constexpr (kElements == 2) {
    asm volatile("ld.global.nc.L1::no_allocate.v2.f32 {%0, %1}, [%2];"
                 : "=f"(v.at[0]), "=f"(v.at[1])
                 : "l"(from));
  } else {
    v.at[0] = __ldg(from);  // its neighbours are needed soon
  }
  return v;
}
template <int kElements>
__device__ __forceinline__ void copy_async(float* to, const float* from) {
  const auto shared = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(from),
               "n"(4 * kElements));
}
__device__ __forceinline__ void await_copies() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}
__device__ __forceinline__ float of_lane(float value, int offset) {
  return __shfl_xor_sync(0xffffffff, value, offset);
}

#else

using CachePolicy = int;
inline CachePolicy keeping_policy() {
  return 0;
}
template <int kElements>
inline Vector<kElements> read_once(const float* from, CachePolicy) {
  return read<kElements>(from);
}
template <int kElements>
inline void copy_async(float* to, const float* from) {
  write(to, read<kElements>(from));
}
inline void await_copies() {}
// All threads of the block come here together.
inline float of_lane(float value, int offset) {
  __shared__ float all[kThreads];
  __syncthreads();
  all[threadIdx.x] = value;
  __syncthreads();
  return all[threadIdx.x ^ static_cast<unsigned>(offset)];
}

#endif

// The lines of one operand that a thread works on, from `first` on.
struct Lines {
  const float* at;    // the first line's first element
  long long leading;  // elements from one line (along K) or one k (else) to the next
  int left;           // lines of the matrix from the first on, at least 1
  bool aligned;       // 2 or 4 neighbours, at a multiple of as many, are one vector

  __device__ __forceinline__ Lines(const float* source, long long ld, long long all,
                                   long long first, bool along_k)
      : leading(ld) {
    if (first >= all) first = all - 1;
    at = source + first * (along_k ? ld : 1);
    left = all - first < 1 << 30 ? static_cast<int>(all - first) : 1 << 30;
    aligned = reinterpret_cast<unsigned long long>(source) % 16 == 0 && ld % 4 == 0;
  }
};

// The few lines' part of K that shared memory holds: line after line where a lane reads several k
// at a time, else k after k.
constexpr int kStep = SLICES * kBatch;  // elements of K that the block takes at a time
constexpr int kChunk = kStep * (FEW * kStep < 8192 ? 8192 / (FEW * kStep) : 1);
constexpr int kSharedFloats = FEW * kChunk > SLICES* kTile ? FEW* kChunk : SLICES* kTile;

__device__ __forceinline__ int place(int f, int k) {
  return kAlongK ? f * kChunk + k : k * FEW + f;
}

// Copies `count` elements of K of each, as many more as complete a step, from k on. Beyond them
// and beyond the matrix it puts -0: it meets +0, and their product, -0, is the one number that
// changes no sum.
__device__ __forceinline__ void copy_few(const Lines& few, long long k, int count, float* shared) {
  const int rounded = (count - 1) / kStep * kStep + kStep;
  const int thread = threadIdx.x;
  const auto copy_one = [&](int f, int at_k, const float* from) {
    float* const to = shared + place(f, at_k);
    if (f < few.left && at_k < count) {
      copy_async<1>(to, from);
    } else {
      *to = -0.0f;
    }
  };
  if (kFewAlongK || (FEW == 1 && few.leading == 1)) {
#pragma unroll 1
    for (int f = 0; f < FEW; ++f) {
      const float* const line = few.at + f * few.leading + k;
      int by_four = 0;  // elements that come in vectors
      if ((kAlongK || FEW == 1) && reinterpret_cast<unsigned long long>(line) % 16 == 0) {
        by_four = f < few.left ? count / 4 * 4 : 0;
#pragma unroll 4
        for (int e = 4 * thread; e < by_four; e += 4 * kThreads) {
          copy_async<4>(shared + place(f, e), line + e);
        }
      }
#pragma unroll 4
      for (int e = by_four + thread; e < rounded; e += kThreads) copy_one(f, e, line + e);
    }
  } else {
#pragma unroll 4
    for (int e = thread; e < FEW * rounded; e += kThreads) {
      copy_one(e % FEW, e / FEW, few.at + (k + e / FEW) * few.leading + e % FEW);
    }
  }
  await_copies();
}

using Sums = float[FEW][LINES];

// A batch of the large operand: UNROLL elements of each of this thread's lines.
class Batch {
 public:
  // The place of an element from the batch's first k on, for this lane.
  static __device__ __forceinline__ int k_offset(int i) {
    const int lane_k = static_cast<int>(threadIdx.x % 32) / kAcross;
    return (i / kRun * LANES_K + lane_k) * kRun + i % kRun;
  }

  // Lanes of a warp may differ in whether their lines can be read as vectors.
  __device__ __forceinline__ void load(const Lines& many, long long k, long long k_end,
                                       CachePolicy policy) {
    if (many.aligned && (kAlongK || many.left > line_offset(LINES - 1))) {
      load<true>(many, k, k_end, policy);
    } else {
      load<false>(many, k, k_end, policy);
    }
  }

  template <bool kWide>
  __device__ __forceinline__ void load(const Lines& many, long long k, long long k_end,
                                       CachePolicy policy) {
    if (kAlongK) {
#pragma unroll
      for (int i = 0; i < UNROLL; i += 4) {
        const long long own = k + k_offset(i);
#pragma unroll
        for (int line = 0; line < LINES; ++line) {
          const int place = least(line_offset(line), many.left - 1);
          const float* const from = many.at + place * many.leading + own;
          if (kWide && own + 4 <= k_end) {
            const auto v = read_once<4>(from, policy);
#pragma unroll
            for (int e = 0; e < 4; ++e) at[i + e][line] = v.at[e];
          } else {
#pragma unroll
            for (int e = 0; e < 4; ++e) {
              at[i + e][line] = own + e < k_end ? read_once<1>(from + e, policy).at[0] : 0.0f;
            }
          }
        }
      }
    } else {
      constexpr int kWidth = kWide ? kNeighbours : 1;
#pragma unroll
      for (int i = 0; i < UNROLL; ++i) {
        const long long own = k + k_offset(i);
        const float* const from = many.at + own * many.leading;
#pragma unroll
        for (int line = 0; line < LINES; line += kWidth) {
          const int place = kWide ? line_offset(line) : least(line_offset(line), many.left - 1);
          Vector<kWidth> v = {};
          if (own < k_end) v = read_once<kWidth>(from + place, policy);
#pragma unroll
          for (int e = 0; e < kWidth; ++e) at[i][line + e] = v.at[e];
        }
      }
    }
  }

  // few: the few lines in shared memory, from the batch's first k on.
  __device__ __forceinline__ void multiply(const float* few, Sums& sums) const {
    if (kAlongK) {
#pragma unroll
      for (int i = 0; i < UNROLL; i += 4) {
#pragma unroll
        for (int f = 0; f < FEW; ++f) {
          const auto v = read<4>(few + place(f, k_offset(i)));
#pragma unroll
          for (int e = 0; e < 4; ++e) add(v.at[e], i + e, sums[f]);
        }
      }
    } else {
      constexpr int kWidth = least(FEW, 4);
#pragma unroll
      for (int i = 0; i < UNROLL; ++i) {
#pragma unroll
        for (int f = 0; f < FEW; f += kWidth) {
          const auto v = read<kWidth>(few + place(f, k_offset(i)));
#pragma unroll
          for (int e = 0; e < kWidth; ++e) add(v.at[e], i, sums[f + e]);
        }
      }
    }
  }

 private:
  float at[UNROLL][LINES];

  __device__ __forceinline__ void add(float factor, int i, float* sums) const {
#pragma unroll
    for (int line = 0; line < LINES; ++line) sums[line] = fmaf(factor, at[i][line], sums[line]);
  }
};

// Adds the products of the elements of K from `begin` to before `end`.
__device__ __forceinline__ void accumulate(const Lines& few, const Lines& many, long long begin,
                                           long long end, float* shared, Sums& sums) {
  const int own = static_cast<int>(threadIdx.x) / (32 * WARPS) * kBatch;  // of a step
  const CachePolicy policy = keeping_policy();
  Batch next;
  next.load(many, begin + own, end, policy);
  for (long long chunk = begin; chunk < end; chunk += kChunk) {
    const int count = end - chunk < kChunk ? static_cast<int>(end - chunk) : kChunk;
    if (chunk > begin) __syncthreads();  // nobody reads the last one any more
    copy_few(few, chunk, count, shared);
    __syncthreads();
#pragma unroll 1
    for (int k = own; k < count; k += kStep) {
      const Batch batch = next;
      next.load(many, chunk + k + kStep, end, policy);
      batch.multiply(shared + place(0, k), sums);
    }
  }
  __syncthreads();
}

// Adds up what the lanes along K have, kLeft values in each, in halves: a lane keeps one half of
// its values and gives the other to its partner, until every lane has one value, or as many lanes
// as need be have the same. `first` becomes the number of a lane's first value.
template <int kLeft, int kOffset>
__device__ __forceinline__ void add_lanes(float* values, int& first) {
  if constexpr (kOffset >= kAcross) {
    const bool upper = threadIdx.x & kOffset;
    if constexpr (kLeft > 1) {
#pragma unroll
      for (int i = 0; i < kLeft / 2; ++i) {
        const float given = upper ? values[i] : values[i + kLeft / 2];
        const float kept = upper ? values[i + kLeft / 2] : values[i];
        values[i] = kept + of_lane(given, kOffset);
      }
      if (upper) first += kLeft / 2;
      add_lanes<kLeft / 2, kOffset / 2>(values, first);
    } else {
      values[0] += of_lane(values[0], kOffset);
      add_lanes<1, kOffset / 2>(values, first);
    }
  }
}

// Puts a slice's sums into its tile: line after line for each of the few.
__device__ __forceinline__ void put(Sums& sums, float* tile) {
  constexpr int kAll = FEW * LINES;
  constexpr int kKept = kAll > LANES_K ? kAll / LANES_K : 1;
  constexpr int kSame = kAll < LANES_K ? LANES_K / kAll : 1;  // lanes with the same value
  const int warp = threadIdx.x / 32 % WARPS;
  const int lane = threadIdx.x % 32;
  int first = 0;
  add_lanes<kAll, 16>(&sums[0][0], first);
  if (lane / kAcross % kSame != 0) return;
#pragma unroll
  for (int i = 0; i < kKept; ++i) {
    const int f = (first + i) / LINES;
    const int line = (first + i) % LINES;
    const int place = warp * LINES * kAcross + lane % kAcross * kNeighbours + line_offset(line);
    tile[f * kBlockLines + place] = (&sums[0][0])[i];
  }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    gemm_skinny(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                long long m, long long n, long long k, long long lda, long long ldb, long long ldc,
                float alpha, float beta, float* __restrict__ scratch, unsigned) {
#ifdef __CUDA_ARCH__
  extern __shared__ __align__(16) float shared[];
#else
  alignas(16) __shared__ float shared[kSharedFloats];
#endif
  const long long all_few = FEW_SIDE == 0 ? m : n;
  const long long all_lines = FEW_SIDE == 0 ? n : m;
  const unsigned tiles_few = static_cast<unsigned>(all_few - 1) / FEW + 1;
  const unsigned tiles = (static_cast<unsigned>(all_lines - 1) / kBlockLines + 1) * tiles_few;
  const unsigned parts = SPLIT_K == 1 ? 1 : gridDim.x / tiles;
  const unsigned part = blockIdx.x / tiles;
  const unsigned tile = blockIdx.x % tiles;
  const long long first_few = static_cast<long long>(tile % tiles_few) * FEW;
  const long long first_line = static_cast<long long>(tile / tiles_few) * kBlockLines;

  // This block's part of K, in whole batches, and its threads' sums.
  const unsigned batches = static_cast<unsigned>(k - 1) / kBatch + 1;
  const unsigned share = batches / parts;
  const unsigned longer = batches % parts;  // the first parts have one batch more
  const long long begin =
      static_cast<long long>(part * share + (part < longer ? part : longer)) * kBatch;
  const long long last = begin + static_cast<long long>(share + (part < longer)) * kBatch;
  const long long end = last < k ? last : k;
  const int warp = threadIdx.x / 32 % WARPS;
  const int lane = threadIdx.x % 32;
  const long long own_line = first_line + warp * LINES * kAcross + lane % kAcross * kNeighbours;
  const Lines few(FEW_SIDE == 0 ? a : b, FEW_SIDE == 0 ? lda : ldb, all_few, first_few, kFewAlongK);
  const Lines many(FEW_SIDE == 0 ? b : a, FEW_SIDE == 0 ? ldb : lda, all_lines, own_line, kAlongK);
  Sums sums = {};
  await_launch_before(static_cast<int>(end - begin) | few.left | many.left);
  accumulate(few, many, begin, end, shared, sums);
  put(sums, shared + threadIdx.x / (32 * WARPS) * kTile);
  __syncthreads();

  // The slices' sums, in their order.
  float* const own = scratch + kCounters + (static_cast<long long>(tile) * parts + part) * kTile;
  const auto sum_of_slices = [&](int e) {
    float sum = shared[e];
    for (int slice = 1; slice < SLICES; ++slice) sum += shared[slice * kTile + e];
    return sum;
  };
  // Those of the blocks, from one of them on, every kGroups-th.
  const auto sum_of_parts = [&](int e, unsigned first) {
    const float* const from = own - static_cast<long long>(part) * kTile + e;
    float sum = 0;
#pragma unroll 4
    for (unsigned p = first; p < parts; p += kGroups) sum += read_others<1>(from + p * kTile).at[0];
    return sum;
  };
  if (parts > 1) {
    for (int e = threadIdx.x; e < kTile; e += kThreads) own[e] = sum_of_slices(e);
    if (!arrives_last(reinterpret_cast<int*>(scratch) + tile, static_cast<int>(parts))) return;
    if (kGroups > 1 && threadIdx.x < kGroups * kTile) {
      shared[threadIdx.x] = sum_of_parts(threadIdx.x % kTile, threadIdx.x / kTile);
    }
    __syncthreads();
  }

  for (int e = threadIdx.x; e < kTile; e += kThreads) {
    const long long f = first_few + e / kBlockLines;
    const long long line = first_line + e % kBlockLines;
    if (f >= all_few || line >= all_lines) continue;
    float sum = 0;
    if (parts == 1) {
      sum = sum_of_slices(e);
    } else if (kGroups == 1) {
      sum = sum_of_parts(e, 0);
    } else {
#pragma unroll
      for (int group = 0; group < kGroups; ++group) sum += shared[group * kTile + e];
    }
    float* const to = c + (FEW_SIDE == 0 ? f * ldc + line : line * ldc + f);
    const float product = alpha * sum;
    *to = beta == 0.0f ? product : fmaf(beta, *to, product);
  }
}
