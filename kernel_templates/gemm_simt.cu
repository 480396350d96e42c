// gemm_simt: C = alpha * op(A) * op(B) + beta * C with register blocking, in strict FP32.
//
// A block computes a tile of C with WARPS_M x WARPS_N warps. A warp is LANES_M x (32 / LANES_M)
// lanes, and a lane computes THREAD_M x THREAD_N results, in pieces of up to 4 x 4 that lie apart
// so that the lanes' pieces are neighbours. The operands travel along K in phases of BLOCK_K:
// copies that need no registers (cp.async) fill STAGES buffers in shared memory ahead of the
// multiplication. Shared memory keeps both operands k after k, so that a lane reads four of its
// elements with one instruction; an operand that lies along K in memory is transposed by its
// copies.
//
// Warps of a block (SLICES) or blocks (SPLIT_K) can share the work of one tile along K. The parts
// are added in an order that is always the same, so two runs give the same bits. Without either, a
// result is one chain of fused multiply-adds over k = 0 .. K-1 that starts at 0.
//
// The lanes' arrangement and the sequence of a phase follow CUTLASS's SIMT kernels
// (github.com/NVIDIA/cutlass, default_mma_core_simt.h and mma_multistage.h); splitting the work
// evenly over blocks follows Osama et al., "Stream-K" (arXiv 2301.03598).
//
// Matrices are row-major with leading dimensions in elements; 1 <= m, n, k < 2^31, any alignment.
// Launch: kThreads threads, kSharedFloats of dynamic shared memory; blocks along x: as many as C
// has tiles, or with SPLIT_K any number up to the phases of all tiles. scratch: see
// kernel_template.hpp.

// Results of one lane: 4, 8 or 16 along each side.
#ifndef THREAD_M
#define THREAD_M 8
#endif
#ifndef THREAD_N
#define THREAD_N 8
#endif

// Lanes of a warp along M: 4 or 8. The others are along N.
#ifndef LANES_M
#define LANES_M 8
#endif

// Warps of a block (of one of its slices) along each side: 1, 2, 4 or 8.
#ifndef WARPS_M
#define WARPS_M 2
#endif
#ifndef WARPS_N
#define WARPS_N 4
#endif

// Parts of each phase that different warps of the block multiply: 1, 2, 4 or 8.
#ifndef SLICES
#define SLICES 1
#endif

// Elements of K in a phase: 8, 16, 32 or 64.
#ifndef BLOCK_K
#define BLOCK_K 16
#endif

// Buffers in shared memory, each for one phase: 2, 3, 4 or 6.
#ifndef STAGES
#define STAGES 3
#endif

// Steps along K that the inner loop takes between two branches: 8 or 16, or as many as a slice has
// in a phase.
#ifndef UNROLL
#define UNROLL 8
#endif

// 1: a lane reads the elements for the next k while it multiplies those of this one.
#ifndef DOUBLE_BUFFER
#define DOUBLE_BUFFER 1
#endif

// The order in which a lane adds the products of one k, to and fro so that neighbours share an
// operand. 0: row after row. 2 or 4: the same in pieces of 4 or 2 columns. 1: column after column.
// 3 or 5: the same in pieces of 4 or 2 rows. The compiler allocates registers accordingly, with
// more or fewer conflicts.
#ifndef ORDER
#define ORDER 0
#endif

// How shared memory keeps an operand that lies along K in memory. 0: k after k, transposed by
// copies of single elements. 1: line after line, copied four elements at a time; a lane then reads
// four k of one line at once.
#ifndef BY_LINE
#define BY_LINE 0
#endif

// Blocks of an SM that the compiler must leave registers for.
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 1
#endif

// Tiles along M whose blocks run side by side, so that they find their part of B in the L2 cache.
#ifndef RASTER
#define RASTER 8
#endif

// Blocks that share the work of one tile, on average. 0: the launch has as many blocks as run at
// once, and each gets an equal share of all work.
#ifndef SPLIT_K
#define SPLIT_K 1
#endif

// Neighbours among those blocks that add up in each other's shared memory before they write to
// global memory: 1, or with compute capability 9.0 also 2 or 4.
#ifndef CLUSTER
#define CLUSTER 1
#endif

// Not tuned but given by the problem. 1: memory holds the transpose of op(A), of op(B).
#ifndef TRANSPOSE_A
#define TRANSPOSE_A 0
#endif
#ifndef TRANSPOSE_B
#define TRANSPOSE_B 0
#endif

constexpr int kLanesN = 32 / LANES_M;
constexpr int kTileM = WARPS_M * LANES_M * THREAD_M;
constexpr int kTileN = WARPS_N * kLanesN * THREAD_N;
constexpr int kSliceThreads = 32 * WARPS_M * WARPS_N;
constexpr int kThreads = kSliceThreads * SLICES;
constexpr int kSliceK = BLOCK_K / SLICES;
constexpr int kStepK = UNROLL < kSliceK ? UNROLL : kSliceK;
constexpr int kResults = THREAD_M * THREAD_N;
constexpr int kOfSlice = kResults / SLICES;   // a thread's results once the slices are added
constexpr int kOfBlock = kOfSlice / CLUSTER;  // and once the cluster's blocks are
constexpr int kCounters = 1 << 16;            // at the start of the scratch, zero between launches

__device__ constexpr int least(int a, int b) {
  return a < b ? a : b;
}
__device__ constexpr int common_divisor(int a, int b) {
  return b == 0 ? a : common_divisor(b, a % b);
}

// What one instruction moves: up to four elements.
template <int kElements>
struct alignas(4 * kElements) Vector {
  float at[kElements];
};

template <int kElements>
__device__ __forceinline__ Vector<kElements> read(const float* from) {
  from = static_cast<const float*>(__builtin_assume_aligned(from, 4 * kElements));
  return *reinterpret_cast<const Vector<kElements>*>(from);
}

template <int kElements>
__device__ __forceinline__ void write(float* to, const Vector<kElements>& vector) {
  to = static_cast<float*>(__builtin_assume_aligned(to, 4 * kElements));
  *reinterpret_cast<Vector<kElements>*>(to) = vector;
}

// The machine's own words, and what they mean on a processor that runs one thread at a time.
#ifdef __CUDA_ARCH__

template <int kElements>
__device__ __forceinline__ void copy_async(float* to, const float* from) {
  const auto shared = static_cast<unsigned>(__cvta_generic_to_shared(to));
  if constexpr (kElements == 4) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from));
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared), "l"(from));
  }
}

__device__ __forceinline__ void close_copies() {
  asm volatile("cp.async.commit_group;");
}

// Until all but the newest kOpen groups of this thread's copies have arrived.
template <int kOpen>
__device__ __forceinline__ void await_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kOpen));
}

__device__ __forceinline__ int count(int* counter) {
  return atomicAdd(counter, 1);
}

// What this block wrote before, others see before what it writes after.
__device__ __forceinline__ void publish() {
  __threadfence();
}

// What another block wrote: not from this SM's cache.
template <int kElements>
__device__ __forceinline__ Vector<kElements> read_others(const float* from) {
  Vector<kElements> v;
  if constexpr (kElements == 4) {
    asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.at[0]), "=f"(v.at[1]), "=f"(v.at[2]), "=f"(v.at[3])
                 : "l"(from));
  } else {
#pragma unroll
    for (int e = 0; e < kElements; ++e) v.at[e] = __ldcg(from + e);
  }
  return v;
}

// All threads of the cluster come here; what they wrote before, all see afterwards.
__device__ __forceinline__ void await_cluster() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// From the shared memory of a block of the cluster, at its place in this block's.
template <int kElements>
__device__ __forceinline__ Vector<kElements> read_of_block(const float* own, int block) {
  unsigned there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;"
      : "=r"(there)
      : "r"(static_cast<unsigned>(__cvta_generic_to_shared(own))), "r"(block));
  Vector<kElements> v;
  if constexpr (kElements == 4) {
    asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.at[0]), "=f"(v.at[1]), "=f"(v.at[2]), "=f"(v.at[3])
                 : "r"(there));
  } else {
#pragma unroll
    for (int e = 0; e < kElements; ++e) {
      asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v.at[e]) : "r"(there + 4 * e));
    }
  }
  return v;
}

#else

template <int kElements>
inline void copy_async(float* to, const float* from) {
  write<kElements>(to, read<kElements>(from));
}
inline void close_copies() {}
template <int kOpen>
inline void await_copies() {}
inline int count(int* counter) {
  return __atomic_fetch_add(counter, 1, __ATOMIC_ACQ_REL);
}
inline void publish() {}
template <int kElements>
inline Vector<kElements> read_others(const float* from) {
  return read<kElements>(from);
}
// There are no clusters.
inline void await_cluster() {}
template <int kElements>
inline Vector<kElements> read_of_block(const float* own, int) {
  return read<kElements>(own);
}

#endif

// One operand of the block's tile. A "line" is a row of op(A) or a column of op(B): seen so, both
// operands are lines of K elements, and a result is the product of two lines.
//   kLines    of the tile
//   kAlongK   memory holds a line's elements side by side; else those of neighbouring lines
template <int kLines, bool kAlongK>
struct Operand {
  static constexpr bool kByLine = kAlongK && BY_LINE;
  // From one line (kByLine) or k (else) to the next in shared memory. The space between lines lets
  // 8 lanes read 8 lines at once; that between k lets copies write 8 k of 4 lines at once.
  static constexpr int kPitch =
      kByLine ? BLOCK_K + 4 : kLines + (kAlongK && kLines % 8 == 0 ? 4 : 0);
  static constexpr int kSize = kPitch * (kByLine ? kLines : BLOCK_K);

  static __device__ __forceinline__ int place(int line, int k) {
    return kByLine ? line * kPitch + k : k * kPitch + line;
  }

  // How the block's threads share a phase's elements: each copies kElements of them at a time, from
  // line own_line() and own_k() on, then those kLineStep lines and kKStep k further, as far as the
  // phase has them.
  template <int kElements>
  struct Shares {
    static constexpr int kAcross = kByLine   ? BLOCK_K / kElements  // threads side by side
                                   : kAlongK ? 8
                                             : common_divisor(kLines / kElements, kThreads);
    static constexpr int kAlong = kThreads / kAcross;
    static constexpr int kLineStep = kAlongK ? kAlong : kAcross * kElements;
    static constexpr int kKStep = kByLine ? BLOCK_K : kAlongK ? kAcross : kAlong;
    static constexpr int kLinesEach = (kLines + kLineStep - 1) / kLineStep;
    static constexpr int kKEach = (BLOCK_K + kKStep - 1) / kKStep;
    // Whether every thread has kLinesEach lines and kKEach k.
    static constexpr bool kEvenLines = kLines % kLineStep == 0;
    static constexpr bool kEvenK = BLOCK_K % kKStep == 0;

    static __device__ __forceinline__ int own_line() {
      const int t = threadIdx.x;
      return kAlongK ? t / kAcross : t % kAcross * kElements;
    }
    static __device__ __forceinline__ int own_k() {
      const int t = threadIdx.x;
      return kByLine ? t % kAcross * kElements : kAlongK ? t % kAcross : t / kAcross;
    }
  };
  static constexpr int kWidest = kByLine || (!kAlongK && kLines % 4 == 0) ? 4 : 1;

  const float* tile;  // its first element, in global memory
  const float* own;   // this thread's first element of the phase that is copied next
  long long leading;  // elements from one line (kAlongK) or one k (else) to the next
  int lines_left;     // lines of the matrix from the tile's first on, at most kLines
  bool wide;          // all copies but those at the end of K are of kWidest elements

  __device__ __forceinline__ Operand(const float* source, long long ld, long long lines,
                                     long long first_line, long long first_k)
      : leading(ld) {
    tile = source + (kAlongK ? first_line * ld + first_k : first_k * ld + first_line);
    lines_left = lines - first_line < kLines ? static_cast<int>(lines - first_line) : kLines;
    wide = reinterpret_cast<unsigned long long>(source) % (kWidest * 4) == 0 && ld % kWidest == 0 &&
           (kAlongK || (first_line % kWidest == 0 && lines_left % kWidest == 0));
    own = tile + (wide ? offset(Shares<kWidest>::own_line(), Shares<kWidest>::own_k())
                       : offset(Shares<1>::own_line(), Shares<1>::own_k()));
  }

  // In global memory, from the tile's first element.
  __device__ __forceinline__ long long offset(int line, long long k) const {
    return kAlongK ? line * leading + k : k * leading + line;
  }

  // Begins to copy one phase to `to`: one that the matrix has all elements of.
  __device__ __forceinline__ void copy_plain(float* to) {
    if (kWidest == 1 || __builtin_expect(wide, 1)) {
      copy_from<kWidest, false>(own, to, BLOCK_K, 0.0f);
    } else {
      copy_from<1, false>(own, to, BLOCK_K, 0.0f);
    }
    next_phase();
  }

  // The same for any phase. first_k: its first k, counted from the tile's first. k_left: elements
  // of K from there on. Beyond the matrix `outside` is taken.
  __device__ __forceinline__ void copy(float* to, int first_k, int k_left, float outside) {
    if (wide && (!kByLine || k_left >= BLOCK_K || k_left % kWidest == 0)) {
      copy_from<kWidest, true>(own, to, k_left, outside);
    } else {
      const float* from = tile + offset(Shares<1>::own_line(), first_k + Shares<1>::own_k());
      copy_from<1, true>(from, to, k_left, outside);
    }
    next_phase();
  }

  __device__ __forceinline__ void next_phase() { own += kAlongK ? BLOCK_K : BLOCK_K * leading; }

  // from: this thread's first element.
  template <int kElements, bool kChecked>
  __device__ __forceinline__ void copy_from(const float* from, float* to, int k_left,
                                            float outside) const {
    using S = Shares<kElements>;
    to += place(S::own_line(), S::own_k());
#pragma unroll
    for (int i = 0; i < S::kLinesEach; ++i) {
      const int line = S::own_line() + i * S::kLineStep;
      const float* element = from;
      if (S::kEvenLines || line < kLines) {
#pragma unroll
        for (int j = 0; j < S::kKEach; ++j) {
          const int k = S::own_k() + j * S::kKStep;
          float* const target = to + place(i * S::kLineStep, j * S::kKStep);
          if (!S::kEvenK && k >= BLOCK_K) continue;
          if (!kChecked || (line < lines_left && k < k_left)) {
            copy_async<kElements>(target, element);
          } else {
#pragma unroll
            for (int e = 0; e < kElements; ++e) target[e] = outside;
          }
          element += S::kKStep * (kAlongK ? 1 : leading);
        }
      }
      from += S::kLineStep * (kAlongK ? leading : 1);
    }
  }
};

using OperandA = Operand<kTileM, !TRANSPOSE_A>;
using OperandB = Operand<kTileN, TRANSPOSE_B>;
constexpr int kStage = OperandA::kSize + OperandB::kSize;
// What slices or blocks give each other: half of all results at first, or a block's.
constexpr int kExchanged = SLICES > 1    ? kThreads* kResults / 2
                           : CLUSTER > 1 ? kThreads* kResults
                                         : 0;
constexpr int kSharedFloats = STAGES * kStage > kExchanged ? STAGES* kStage : kExchanged;

// How a thread's results lie along one side of the block's tile: kResults of it, in pieces of
// kChunk neighbours; kLanes lanes have theirs side by side. An operand that is kept by line is read
// line after line, and 8 lanes hit different banks when their lines are neighbours.
template <int kResults, int kLanes, bool kByLine>
struct Side {
  static constexpr int kChunk = kByLine ? 1 : least(kResults, 4);
  // Of result i, from this thread's first.
  static __device__ __forceinline__ int offset(int i) {
    return i / kChunk * kLanes * kChunk + i % kChunk;
  }
};
using SideM = Side<THREAD_M, LANES_M, OperandA::kByLine>;
using SideN = Side<THREAD_N, kLanesN, OperandB::kByLine>;

// Where a thread's results lie in the block's tile. Lanes alternate between the sides, so that
// neighbours read the same elements of A, and neighbours but one the same of B: shared memory then
// serves 16 lanes at a time instead of 8.
struct Position {
  int slice;
  int row;     // the first, in the tile
  int column;  // likewise

  __device__ __forceinline__ Position() {
    const int lane = threadIdx.x % 32;
    int lane_m = 0;
    int lane_n = 0;
    int bit = 0;
#pragma unroll
    for (int side = 1; side < 32; side *= 2) {
      if (side < kLanesN) lane_n += (lane >> bit++ & 1) * side;
      if (side < LANES_M) lane_m += (lane >> bit++ & 1) * side;
    }
    const int warp = threadIdx.x / 32;
    slice = warp / (WARPS_M * WARPS_N);
    row = (warp / WARPS_N % WARPS_M) * LANES_M * THREAD_M + lane_m * SideM::kChunk;
    column = warp % WARPS_N * kLanesN * THREAD_N + lane_n * SideN::kChunk;
  }
};

// What a thread multiplies of one operand: for one k, or for four when it is kept by line.
template <typename Operand, typename Side, int kResults>
struct Fragment {
  static constexpr int kDepth = Operand::kByLine ? 4 : 1;
  float at[kDepth][kResults];

  // own: this thread's place for the first k of the step. Reads when k begins a fragment.
  __device__ __forceinline__ void load(const float* own, int k) {
    if (k % kDepth != 0) return;
    constexpr int kChunk = Side::kChunk;
#pragma unroll
    for (int i = 0; i < kResults; i += kChunk) {
      const auto v = read<kDepth * kChunk>(own + Operand::place(Side::offset(i), k));
#pragma unroll
      for (int e = 0; e < kDepth * kChunk; ++e) at[e % kDepth][i + e / kDepth] = v.at[e];
    }
  }
};
using FragmentA = Fragment<OperandA, SideM, THREAD_M>;
using FragmentB = Fragment<OperandB, SideN, THREAD_N>;

using Sums = float[THREAD_M][THREAD_N];

// Adds the products for one k.
__device__ __forceinline__ void multiply(const FragmentA& a, const FragmentB& b, int k,
                                         Sums& sums) {
  constexpr bool kByColumns = ORDER % 2 == 1;
  constexpr int kOuter = kByColumns ? THREAD_N : THREAD_M;
  constexpr int kAll = kByColumns ? THREAD_M : THREAD_N;
  constexpr int kInner = ORDER < 2 ? kAll : least(kAll, ORDER < 4 ? 4 : 2);
#pragma unroll
  for (int piece = 0; piece < kAll; piece += kInner) {
#pragma unroll
    for (int o = 0; o < kOuter; ++o) {
#pragma unroll
      for (int step = 0; step < kInner; ++step) {
        const int outer = piece / kInner % 2 == 0 ? o : kOuter - 1 - o;
        const int inner = piece + (o % 2 == 0 ? step : kInner - 1 - step);
        const int i = kByColumns ? inner : outer;
        const int j = kByColumns ? outer : inner;
        sums[i][j] =
            fmaf(a.at[k % FragmentA::kDepth][i], b.at[k % FragmentB::kDepth][j], sums[i][j]);
      }
    }
  }
}

// Adds the products of the first k_end elements of K, counted from where the operands begin.
__device__ __forceinline__ void accumulate(OperandA& a, OperandB& b, int k_end,
                                           const Position& position, float* shared, Sums& sums) {
  constexpr int kSteps = kSliceK / kStepK;
  const int phases = (k_end - 1) / BLOCK_K + 1;
  const bool whole = a.lines_left == kTileM && b.lines_left == kTileN;
  // The phases that need no look at what the matrices have.
  const int plain_phases = whole ? k_end / BLOCK_K : 0;
  int copied = 0;  // phases
  float* filling = shared;
  const auto copy_next = [&] {
    float* const filling_b = filling + OperandA::kSize;
    if (__builtin_expect(copied < plain_phases, 1)) {
      a.copy_plain(filling);
      b.copy_plain(filling_b);
    } else if (copied < phases) {
      // Beyond K, -0 of A meets +0 of B. Their product, -0, is the one number that changes no sum.
      a.copy(filling, copied * BLOCK_K, k_end - copied * BLOCK_K, -0.0f);
      b.copy(filling_b, copied * BLOCK_K, k_end - copied * BLOCK_K, 0.0f);
    }
    close_copies();
    ++copied;
    filling = filling == shared + (STAGES - 1) * kStage ? shared : filling + kStage;
  };

#pragma unroll 1
  for (int stage = 0; stage < STAGES - 1; ++stage) copy_next();

  const int first_k = position.slice * kSliceK;
  const int own_offset_a = OperandA::place(position.row, first_k);
  const int own_offset_b = OperandA::kSize + OperandB::place(position.column, first_k);
  const float* own_a = shared + own_offset_a;  // this thread's places for the step's first k
  const float* own_b = shared + own_offset_b;
  const float* reading = shared;
  int step = 0;
  const auto next_step = [&] {
    if (++step < kSteps) {
      own_a += OperandA::place(0, kStepK);
      own_b += OperandB::place(0, kStepK);
      return;
    }
    await_copies<STAGES - 2>();
    __syncthreads();  // the next phase is complete, and nobody reads this one any more
    step = 0;
    reading = reading == shared + (STAGES - 1) * kStage ? shared : reading + kStage;
    own_a = reading + own_offset_a;
    own_b = reading + own_offset_b;
  };

  await_copies<STAGES - 2>();
  __syncthreads();
  FragmentA fragments_a[2];
  FragmentB fragments_b[2];
  if (DOUBLE_BUFFER) {
    fragments_a[0].load(own_a, 0);
    fragments_b[0].load(own_b, 0);
  }
  const auto buffer = [](int k, int depth) { return DOUBLE_BUFFER ? k / depth % 2 : 0; };
#pragma unroll 1
  for (int steps = phases * kSteps; steps > 0; --steps) {
    if (step == 0) copy_next();
#pragma unroll
    for (int k = 0; k < kStepK; ++k) {
      const int loaded = DOUBLE_BUFFER ? k + 1 : k;
      if (loaded == kStepK) next_step();
      fragments_a[buffer(loaded, FragmentA::kDepth)].load(own_a, loaded % kStepK);
      fragments_b[buffer(loaded, FragmentB::kDepth)].load(own_b, loaded % kStepK);
      multiply(fragments_a[buffer(k, FragmentA::kDepth)], fragments_b[buffer(k, FragmentB::kDepth)],
               k, sums);
    }
    if (!DOUBLE_BUFFER) next_step();
  }
}

// Where threads leave results for others, in shared memory or the scratch: each kWidth of them at a
// time, all threads' side by side.
template <int kWidth>
__device__ __forceinline__ int exchange_place(int thread, int result) {
  return (result / kWidth * kThreads + thread) * kWidth + result % kWidth;
}

// Adds up what kSlices slices have, kLeft results in each thread, in halves: a slice keeps one half
// and gives the other to its partner, until each has its part of the results: the first slice the
// first of them, and so on.
template <int kSlices, int kLeft>
__device__ __forceinline__ void add_slices(float* results, float* shared) {
  if constexpr (kSlices > 1) {
    constexpr int kHalf = kLeft / 2;
    constexpr int kWidth = least(kHalf, 4);
    constexpr int kApart = kSlices / 2 * kSliceThreads;  // from a thread to its partner
    const bool upper = threadIdx.x & kApart;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kHalf; i += kWidth) {
      Vector<kWidth> given;
#pragma unroll
      for (int e = 0; e < kWidth; ++e)
        given.at[e] = upper ? results[i + e] : results[i + e + kHalf];
      write<kWidth>(shared + exchange_place<kWidth>(threadIdx.x, i), given);
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kHalf; i += kWidth) {
      const auto taken = read<kWidth>(shared + exchange_place<kWidth>(threadIdx.x ^ kApart, i));
#pragma unroll
      for (int e = 0; e < kWidth; ++e) {
        results[i + e] = (upper ? results[i + e + kHalf] : results[i + e]) + taken.at[e];
      }
    }
    add_slices<kSlices / 2, kHalf>(results, shared);
  }
}

// Adds up what the cluster's blocks have, in their order. Each keeps its part of the results, the
// first block the first.
__device__ __forceinline__ void add_cluster(float* results, float* shared) {
  constexpr int kWidth = least(kOfBlock, 4);
  const int own = static_cast<int>(blockIdx.x % CLUSTER) * kOfBlock;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kOfSlice; i += kWidth) {
    Vector<kWidth> given;
#pragma unroll
    for (int e = 0; e < kWidth; ++e) given.at[e] = results[i + e];
    write<kWidth>(shared + exchange_place<kWidth>(threadIdx.x, i), given);
  }
  await_cluster();
#pragma unroll
  for (int i = 0; i < kOfBlock; i += kWidth) {
#pragma unroll
    for (int e = 0; e < kWidth; ++e) results[i + e] = 0;
#pragma unroll
    for (int block = 0; block < CLUSTER; ++block) {
      const auto taken =
          read_of_block<kWidth>(shared + exchange_place<kWidth>(threadIdx.x, own + i), block);
#pragma unroll
      for (int e = 0; e < kWidth; ++e) results[i + e] += taken.at[e];
    }
  }
  await_cluster();  // nobody reads this block's shared memory any more
}

// Who does what of the work: the phases of every tile, tile after tile, in as many shares as there
// are blocks. With SPLIT_K above 1 each tile has the same number of blocks to itself; with 0 a
// share goes on from one tile to the next.
struct Schedule {
  long long phases_per_tile;
  long long share;   // SPLIT_K == 0: phases of a block; the first `longer` blocks have one more
  long long longer;  // else: blocks of a tile, and 0

  __device__ __forceinline__ Schedule(long long tiles, long long k) {
    phases_per_tile = (k - 1) / BLOCK_K + 1;
    share = SPLIT_K == 0 ? tiles * phases_per_tile / gridDim.x
                         : gridDim.x / static_cast<unsigned>(tiles);
    longer = SPLIT_K == 0 ? tiles * phases_per_tile % gridDim.x : 0;
  }
  // The first phase of a block's share.
  __device__ __forceinline__ long long begin(long long block) const {
    if (SPLIT_K == 0) return block * share + (block < longer ? block : longer);
    // Divisions of 64 bits take long.
    const auto blocks = static_cast<unsigned>(share);
    const auto phases = static_cast<unsigned>(phases_per_tile);
    const unsigned part = static_cast<unsigned>(block) % blocks;
    const unsigned more = phases % blocks;  // the first parts have one phase more
    return tile_of(block) * phases_per_tile + part * (phases / blocks) +
           (part < more ? part : more);
  }
  // Where a block's share begins.
  __device__ __forceinline__ long long tile_of(long long block) const {
    if (SPLIT_K == 0) return begin(block) / phases_per_tile;
    return static_cast<unsigned>(block) / static_cast<unsigned>(share);
  }
  // The block whose share has the first phase of a tile, or the last one.
  __device__ __forceinline__ long long first_block(long long tile) const {
    return SPLIT_K == 0 ? block_of(tile * phases_per_tile) : tile * share;
  }
  __device__ __forceinline__ long long last_block(long long tile) const {
    return SPLIT_K == 0 ? block_of((tile + 1) * phases_per_tile - 1) : (tile + 1) * share - 1;
  }
  __device__ __forceinline__ long long block_of(long long phase) const {
    const long long of_longer = longer * (share + 1);
    return phase < of_longer ? phase / (share + 1) : longer + (phase - of_longer) / share;
  }
};

// A block's sums for parts of tiles, in the scratch: of the first tile that it works on, and of
// its last when that is another.
__device__ __forceinline__ float* partial_sums(float* scratch, const Schedule& schedule,
                                               long long block, long long tile) {
  const int second = SPLIT_K == 0 && schedule.tile_of(block) != tile;
  return scratch + kCounters + (2 * block + second) * kTileM * kTileN;
}

// Whether this block is the last of `expected` that count themselves. What the others wrote to the
// scratch before is then there to be read; the counter is zero again.
__device__ __forceinline__ bool arrives_last(int* counter, int expected, int* shared_flag) {
  publish();
  __syncthreads();
  if (threadIdx.x == 0) {
    const bool last = count(counter) + 1 == expected;
    if (last) *counter = 0;
    publish();
    *shared_flag = last;
  }
  __syncthreads();
  const bool last = *shared_flag != 0;
  __syncthreads();  // the flag's place is used again
  return last;
}

// The parts of one tile, each the sums of a block or of a cluster, and how they are added: up to
// kAtOnce by one block; of more, groups of neighbours first, each by one block, then the groups'
// sums. The blocks of a cluster have different results: each has parts of its own.
struct Parts {
  static constexpr int kPart = kThreads * kOfBlock;  // its results
  static constexpr int kAtOnce = kPart >= 4096 ? 8 : least(64, 32768 / kPart);
  static constexpr int kWidth = least(kOfBlock, 4);

  float* scratch;
  const Schedule& schedule;
  long long tile;
  long long tiles;
  int count;
  int group;  // parts in each but the last

  __device__ __forceinline__ Parts(float* all, const Schedule& s, long long of_tile,
                                   long long all_tiles)
      : scratch(all), schedule(s), tile(of_tile), tiles(all_tiles) {
    count = static_cast<int>(s.last_block(tile) - s.first_block(tile) + 1) / CLUSTER;
    group = group_size(count);
  }

  static __device__ __forceinline__ int group_size(int parts) {
    if (parts <= kAtOnce) return parts;
    int size = kAtOnce / 2;
    while (size * size < parts) ++size;
    return size;
  }
  static __device__ __forceinline__ int groups(int parts) {
    return (parts - 1) / group_size(parts) + 1;
  }

  // Of the blocks with the same results: first one for all of them, behind these one a group.
  __device__ __forceinline__ int* counter() const {
    return reinterpret_cast<int*>(scratch) + tile * CLUSTER + blockIdx.x % CLUSTER;
  }
  __device__ __forceinline__ int* group_counter(int index) const {
    const long long most_parts =
        SPLIT_K == 0 ? schedule.phases_per_tile / schedule.share + 2 : SPLIT_K / CLUSTER;
    const long long of_blocks = tile * CLUSTER + blockIdx.x % CLUSTER;
    return reinterpret_cast<int*>(scratch) + tiles * CLUSTER +
           of_blocks * groups(static_cast<int>(most_parts)) + index;
  }

  __device__ __forceinline__ float* place(int part) const {
    const long long block =
        schedule.first_block(tile) + part * CLUSTER + static_cast<int>(blockIdx.x % CLUSTER);
    return partial_sums(scratch, schedule, block, tile);
  }

  __device__ __forceinline__ void put(int part, const float* results) const {
    float* const to = place(part);
#pragma unroll
    for (int i = 0; i < kOfBlock; i += kWidth) {
      Vector<kWidth> vector;
#pragma unroll
      for (int e = 0; e < kWidth; ++e) vector.at[e] = results[i + e];
      write<kWidth>(to + exchange_place<kWidth>(threadIdx.x, i), vector);
    }
  }

  // Adds up every `step`th part of those from `first` to before `end`.
  __device__ __forceinline__ void add(int first, int end, int step, float* results) const {
    constexpr int kUnderWay = kOfBlock < 64 ? 64 / kOfBlock : 1;  // parts
#pragma unroll
    for (int e = 0; e < kOfBlock; ++e) results[e] = 0;
#pragma unroll kUnderWay
    for (int part = first; part < end; part += step) {
      const float* const from = place(part);
#pragma unroll
      for (int i = 0; i < kOfBlock; i += kWidth) {
        const auto vector = read_others<kWidth>(from + exchange_place<kWidth>(threadIdx.x, i));
#pragma unroll
        for (int e = 0; e < kWidth; ++e) results[i + e] += vector.at[e];
      }
    }
  }
};

// Leaves this block's sums in the scratch. In the block that comes last with a part of the tile,
// `results` becomes the sum of all of them, in an order that depends on nothing but the problem;
// false in the others.
__device__ bool add_blocks(const Parts& parts, float* shared, float* results) {
  int* const flag = reinterpret_cast<int*>(shared);
  const int own = static_cast<int>(blockIdx.x - parts.schedule.first_block(parts.tile)) / CLUSTER;
  parts.put(own, results);
  if (parts.count <= Parts::kAtOnce) {
    if (!arrives_last(parts.counter(), parts.count, flag)) return false;
    parts.add(0, parts.count, 1, results);
    return true;
  }
  const int first = own / parts.group * parts.group;
  const int end = least(first + parts.group, parts.count);
  if (!arrives_last(parts.group_counter(own / parts.group), end - first, flag)) return false;
  parts.add(first, end, 1, results);
  parts.put(first, results);
  if (!arrives_last(parts.counter(), Parts::groups(parts.count), flag)) return false;
  parts.add(0, parts.count, parts.group, results);
  return true;
}

// Where a tile lies along one side of C. The last one is moved back so that it ends with the matrix
// and its copies need no checks; what it then has in common with its neighbour is the neighbour's.
struct TileSpan {
  long long first;          // line of the matrix that is the tile's first
  unsigned skipped, owned;  // lines of the tile: first the neighbour's, then its own

  __device__ __forceinline__ TileSpan(unsigned index, int lines, long long all) {
    const long long begin = static_cast<long long>(index) * lines;
    const long long last = all - lines;
    first = begin <= last ? begin : last > 0 ? last : 0;
    skipped = static_cast<unsigned>(begin - first);
    owned = all - begin < lines ? static_cast<unsigned>(all - begin) : lines;
  }
  __device__ __forceinline__ bool owns(int line) const {
    return static_cast<unsigned>(line) - skipped < owned;
  }
};

// What a launch computes.
struct Gemm {
  float* c;
  long long m, n, ldc;
  float alpha, beta;

  // Stores a thread's results, from its lane's `first` on, that belong to the tile.
  __device__ __forceinline__ void store(const float* results, int first, const TileSpan& in_m,
                                        const TileSpan& in_n) const {
    constexpr int kColumns = least(kOfBlock, THREAD_N);
    constexpr int kChunk = least(kColumns, SideN::kChunk);
    const bool wide = reinterpret_cast<unsigned long long>(c) % (4 * kChunk) == 0 &&
                      ldc % kChunk == 0 && in_n.first % kChunk == 0 && n % kChunk == 0;
    const Position position;
    const int first_row = position.row + SideM::offset(first / THREAD_N);
    const int first_column = position.column + SideN::offset(first % THREAD_N);
    float* const own = c + (in_m.first + first_row) * ldc + in_n.first + first_column;
#pragma unroll
    for (int i = 0; i < kOfBlock / kColumns; ++i) {
      if (!in_m.owns(first_row + SideM::offset(i))) continue;
      float* const line = own + SideM::offset(i) * ldc;
#pragma unroll
      for (int j = 0; j < kColumns; j += kChunk) {
        const int column = first_column + SideN::offset(j);
        float* const to = line + SideN::offset(j);
        const float* const sums = results + i * kColumns + j;
        if (wide) {
          if (!in_n.owns(column)) continue;
          Vector<kChunk> v;
          if (beta != 0.0f) v = read<kChunk>(to);
#pragma unroll
          for (int e = 0; e < kChunk; ++e) v.at[e] = result(sums[e], v.at[e]);
          write<kChunk>(to, v);
        } else {
#pragma unroll
          for (int e = 0; e < kChunk; ++e) {
            if (in_n.owns(column + e)) to[e] = result(sums[e], beta != 0.0f ? to[e] : 0.0f);
          }
        }
      }
    }
  }

  __device__ __forceinline__ float result(float sum, float before) const {
    const float product = alpha * sum;
    return beta == 0.0f ? product : fmaf(beta, before, product);
  }
};

#if CLUSTER > 1
#define IN_CLUSTERS __cluster_dims__(CLUSTER, 1, 1)
#else
#define IN_CLUSTERS
#endif

extern "C" __global__ void IN_CLUSTERS __launch_bounds__(kThreads, MIN_BLOCKS)
    gemm_simt(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
              long long m, long long n, long long k, long long lda, long long ldb, long long ldc,
              float alpha, float beta, float* __restrict__ scratch) {
#ifdef __CUDA_ARCH__
  extern __shared__ __align__(16) float shared[];
#else
  alignas(16) __shared__ float shared[kSharedFloats];
#endif
  const Gemm gemm{c, m, n, ldc, alpha, beta};
  const Position position;
  const unsigned tiles_m = static_cast<unsigned>((m - 1) / kTileM + 1);
  const unsigned tiles_n = static_cast<unsigned>((n - 1) / kTileN + 1);

  // Computes one tile, or adds its phases from `begin` to `end` to what other blocks do.
  const auto work = [&](unsigned tile, long long begin, long long k_end) {
    const unsigned group = tile / (RASTER * tiles_n);
    const unsigned rows = tiles_m - group * RASTER < RASTER ? tiles_m - group * RASTER : RASTER;
    const unsigned in_group = tile - group * RASTER * tiles_n;
    const TileSpan in_m(group * RASTER + in_group % rows, kTileM, m);
    const TileSpan in_n(in_group / rows, kTileN, n);
    const long long first_k = begin * BLOCK_K;
    OperandA operand_a(a, lda, m, in_m.first, first_k);
    OperandB operand_b(b, ldb, n, in_n.first, first_k);
    const int k_count = static_cast<int>(k_end - first_k);
    Sums sums = {};
    accumulate(operand_a, operand_b, k_count, position, shared, sums);
    float* const results = &sums[0][0];
    add_slices<SLICES, kResults>(results, shared);
    if (CLUSTER > 1) add_cluster(results, shared);
    if (SPLIT_K != 1 && (CLUSTER > 1 || k_count < k)) {
      const long long tiles = static_cast<long long>(tiles_m) * tiles_n;
      const Schedule schedule(tiles, k);
      const Parts parts(scratch, schedule, tile, tiles);
      if ((CLUSTER == 1 || parts.count > 1) && !add_blocks(parts, shared, results)) return;
    }
    const int first = position.slice * kOfSlice + static_cast<int>(blockIdx.x % CLUSTER) * kOfBlock;
    gemm.store(results, first, in_m, in_n);
  };

  if (SPLIT_K == 1) {
    work(blockIdx.x, 0, k);
    return;
  }
  const Schedule schedule(static_cast<long long>(tiles_m) * tiles_n, k);
  long long phase = schedule.begin(blockIdx.x);
  const long long end = schedule.begin(blockIdx.x + 1LL);
  // Works on what is left of one tile. Gives the phase that comes next.
  const auto work_on_tile = [&] {
    const long long tile =
        SPLIT_K == 0 ? phase / schedule.phases_per_tile : schedule.tile_of(blockIdx.x);
    const long long of_tile = tile * schedule.phases_per_tile;
    const long long left =
        end - of_tile < schedule.phases_per_tile ? end - of_tile : schedule.phases_per_tile;
    work(static_cast<unsigned>(tile), phase - of_tile, left * BLOCK_K < k ? left * BLOCK_K : k);
    return of_tile + left;
  };
  if (SPLIT_K > 1) {
    work_on_tile();
    return;
  }
  while (phase < end) {
    phase = work_on_tile();
    __syncthreads();  // nobody reads shared memory any more
  }
}
