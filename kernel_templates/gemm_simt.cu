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
// has tiles, with SPLIT_K any number up to the phases of all tiles, or CLUSTER for each tile if
// these are fewer. scratch and raster: see kernel_template.hpp.

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

// 1: results that cannot be stored as vectors go to lanes side by side first.
#ifndef EXCHANGE
#define EXCHANGE 0
#endif

// Blocks that share the work of one tile: 1, or with any larger value as many as the launch has for
// each. 0: the launch has as many blocks as run at once, which take whole tiles in turn and share
// the last ones evenly.
#ifndef SPLIT_K
#define SPLIT_K 1
#endif

// Neighbours among those blocks that add up in each other's shared memory before they write to
// global memory: 1, or with compute capability 9.0 also 2.
#ifndef CLUSTER
#define CLUSTER 1
#endif

// Not tuned but given by the operands. 1: memory holds the transpose of op(A), of op(B).
#ifndef TRANSPOSE_A
#define TRANSPOSE_A 0
#endif
#ifndef TRANSPOSE_B
#define TRANSPOSE_B 0
#endif
// 1: pointers are multiples of 16 bytes; leading dimensions, and extents of matrices along them,
// multiples of 4.
#ifndef ALIGNED
#define ALIGNED 0
#endif

#include "device/barrier.cuh"
#include "device/launch_order.cuh"
#include "device/thread_tile.cuh"

constexpr int kRegisters = 65536 / (MIN_BLOCKS * kThreads);  // of a thread, at most

#include "device/cluster.cuh"

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

#else

template <int kElements>
inline void copy_async(float* to, const float* from) {
  write<kElements>(to, read<kElements>(from));
}
inline void close_copies() {}
template <int kOpen>
inline void await_copies() {}

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
    wide = ALIGNED || (reinterpret_cast<unsigned long long>(source) % (kWidest * 4) == 0 &&
                       ld % kWidest == 0 &&
                       (kAlongK || (first_line % kWidest == 0 && lines_left % kWidest == 0)));
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
    if (wide && (ALIGNED || !kByLine || k_left >= BLOCK_K || k_left % kWidest == 0)) {
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
// What slices give each other at first: half of all results.
constexpr int kExchanged = SLICES > 1 ? kThreads* kResults / 2 : 0;
constexpr int kBuffers = STAGES * kStage > kExchanged ? STAGES* kStage : kExchanged;
constexpr int kSharedFloats = kBuffers + Cluster::kFloats;
using SideM = Side<THREAD_M, LANES_M, OperandA::kByLine>;
using SideN = Side<THREAD_N, kLanesN, OperandB::kByLine>;
using FragmentA = Fragment<OperandA, SideM, THREAD_M>;
using FragmentB = Fragment<OperandB, SideN, THREAD_N>;

#include "device/partial_sums.cuh"
#include "device/products.cuh"
#include "device/store.cuh"

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

extern "C" __global__ void IN_CLUSTERS __launch_bounds__(kThreads, MIN_BLOCKS)
    gemm_simt(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
              long long m, long long n, long long k, long long lda, long long ldb, long long ldc,
              float alpha, float beta, float* __restrict__ scratch, unsigned raster) {
#ifdef __CUDA_ARCH__
  extern __shared__ __align__(16) float shared[];
#else
  alignas(16) __shared__ float shared[kSharedFloats];
#endif
  const Cluster cluster(shared + kBuffers);
  cluster.open();
  const Gemm gemm{c, m, n, ldc, alpha, beta};
  const Position position;
  const Tiles tiles{static_cast<unsigned>((m - 1) / kTileM + 1),
                    static_cast<unsigned>((n - 1) / kTileN + 1), raster};
  const long long all_tiles = static_cast<long long>(tiles.along_m) * tiles.along_n;
  const Schedule schedule(all_tiles, k);

  // Computes one tile, or adds this block's share of it to what other blocks have.
  const auto work = [&](const Share& share) {
    const TilePosition at(share.tile, tiles);
    const TileSpan in_m(at.along_m, kTileM, m);
    const TileSpan in_n(at.along_n, kTileN, n);
    const long long first_k = share.first_k();
    OperandA operand_a(a, lda, m, in_m.first, first_k);
    OperandB operand_b(b, ldb, n, in_n.first, first_k);
    const int k_count = static_cast<int>(share.k_end(k) - first_k);
    Sums sums = {};
    // A cluster's second block may have nothing of K.
    const int positive = CLUSTER > 1 && k_count < 1 ? 1 : k_count;
    cluster.await_open();
    await_launch_before(positive | operand_a.lines_left | operand_b.lines_left);
    accumulate(operand_a, operand_b, k_count, position, shared, sums);
    float* const results = &sums[0][0];
    add_slices<SLICES, kResults>(results, shared);
    cluster.add(results);
    bool stores = true;
    if (SPLIT_K != 1 && (CLUSTER > 1 || k_count < k)) {
      const Parts parts(scratch, schedule, share.tile, all_tiles);
      if (CLUSTER == 1 || parts.count > 1) stores = add_blocks(parts, results);
    }
    if (!stores) return;
    const int first = position.slice * kOfSlice + Cluster::rank() * kOfBlock;
    gemm.store(results, first, in_m, in_n, EXCHANGE ? shared : nullptr);
  };

  Worklist worklist(schedule);
  Share share = worklist.first();
  do {
    work(share);
    if (SPLIT_K == 0) __syncthreads();  // nobody reads shared memory any more
  } while (worklist.next(share));
}
