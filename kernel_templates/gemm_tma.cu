// gemm_tma: C = alpha * op(A) * op(B) + beta * C in strict FP32 for compute capability 9.0, where
// the copy unit (TMA) brings operands to shared memory.
//
// The block's tile, its warps and lanes, and what they add up are those of gemm_simt. What differs
// is how the operands get there. Memory holds op(B) row after row and op(A)'s transpose likewise:
// of such an operand one instruction asks for a whole phase of BLOCK_K rows, and the unit supplies
// zeros beyond the matrix. An operand that lies along K in memory must be transposed on the way,
// which the unit cannot do: all threads copy its elements singly, a part of them in each step of
// the inner loop, or (PACK) a kernel of its own does so before, once for all tiles that share them,
// as Goto and van de Geijn pack operands ("Anatomy of High-Performance Matrix Multiplication", ACM
// TOMS 34, 2008). Warps do not wait for each other: each buffer has a barrier that says when it is
// filled and one that says when all warps have left it. The warps take turns in asking for the next
// phase, since who asks is late.
//
// A result is one chain of fused multiply-adds over k = 0 .. K-1 that starts at 0, unless SLICES or
// SPLIT_K share it; then the parts are added in an order that is always the same. Zeros beyond K
// turn a sum of -0, which only underflow can leave, into +0.
//
// Matrices are row-major with leading dimensions in elements; 1 <= m, n, k < 2^31. An operand that
// comes by TMA begins at a multiple of 16 bytes, and its leading dimension is a multiple of 4.
// Launch: kThreads threads, kSharedFloats of dynamic shared memory; blocks along x: one or,
// with SPLIT_K, any number for each tile of C. scratch and the tensor maps: see
// kernel_template.hpp.

// Results of one lane: 4, 8 or 16 along each side.
#ifndef THREAD_M
#define THREAD_M 8
#endif
#ifndef THREAD_N
#define THREAD_N 16
#endif

// Lanes of a warp along M: 4 or 8. The others are along N.
#ifndef LANES_M
#define LANES_M 8
#endif

// Warps of a block (of one of its slices) along each side: 1, 2 or 4.
#ifndef WARPS_M
#define WARPS_M 2
#endif
#ifndef WARPS_N
#define WARPS_N 4
#endif

// Parts of each phase that different warps of the block multiply: 1, 2 or 4.
#ifndef SLICES
#define SLICES 1
#endif

// Elements of K in a phase: 16, 32 or 64.
#ifndef BLOCK_K
#define BLOCK_K 32
#endif

// Buffers in shared memory, each for one phase: 3 to 8. Copies begin STAGES - 2 phases ahead.
#ifndef STAGES
#define STAGES 4
#endif

// Steps along K that the inner loop takes between two branches: 8 or 16, or as many as a slice has
// in a phase.
#ifndef UNROLL
#define UNROLL 8
#endif

// The order in which a lane adds the products of one k: see gemm_simt.cu.
#ifndef ORDER
#define ORDER 0
#endif

// Blocks of an SM that the compiler must leave registers for.
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 1
#endif

// Tiles along M whose blocks run side by side, so that they find their part of B in the L2 cache.
#ifndef RASTER
#define RASTER 8
#endif

// Blocks that share the work of one tile: 1, or with any larger value as many as the launch has for
// each.
#ifndef SPLIT_K
#define SPLIT_K 1
#endif

// 1: operands that lie along K are packed: before gemm_tma, gemm_tma_pack writes their tiles to the
// scratch, phase after phase as shared memory keeps them. Only without SPLIT_K.
#ifndef PACK
#define PACK 0
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

#define CLUSTER 1
#include "device/thread_tile.cuh"

// What the driver makes of an operand's place and shape (CUtensorMap).
struct alignas(64) TensorMap {
  unsigned long long words[16];
};

using Barrier = unsigned long long;

__device__ __forceinline__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ void open_barrier(Barrier* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(arrivals));
}

// Before other threads, and the copy unit, use the barriers that this one has opened.
__device__ __forceinline__ void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// What the copy unit writes afterwards cannot overtake this thread's reads before. Without it, a
// warp's last reads of a phase may still be waiting when the next one is there: on an H200 that
// showed where shared memory is busiest, in up to 3 of 100 launches.
__device__ __forceinline__ void finish_reads() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void arrive(Barrier* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier))
               : "memory");
}

// Arrives, and adds so many bytes to what the barrier waits for.
__device__ __forceinline__ void arrive_expecting(Barrier* barrier, int bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
      "r"(bytes)
      : "memory");
}

// Arrives when this thread's copies so far have.
__device__ __forceinline__ void arrive_with_copies(Barrier* barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(barrier))
               : "memory");
}

// Until the barrier's round of this parity is over. The rounds are 0, 1, 0, 1 and so on, and the
// one before the first counts as over.
__device__ __forceinline__ void await(Barrier* barrier, unsigned parity) {
  asm volatile(
      "{\n"
      ".reg .pred over;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 over, [%0], %1;\n"
      "@!over bra again;\n"
      "}" ::"r"(shared_address(barrier)),
      "r"(parity)
      : "memory");
}

// One element, or 0 in its place.
__device__ __forceinline__ void copy_or_zero(float* to, const float* from, bool is_there) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(to)), "l"(from),
               "r"(is_there ? 4 : 0));
}

__device__ __forceinline__ void await_all_copies() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

// The map's box from this column and row of the matrix on.
__device__ __forceinline__ void copy_box(float* to, const TensorMap& map, int column, int row,
                                         Barrier* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(to)),
      "l"(&map), "r"(column), "r"(row), "r"(shared_address(barrier))
      : "memory");
}

// What lies side by side in memory as in shared memory.
__device__ __forceinline__ void copy_bytes(float* to, const float* from, int bytes,
                                           Barrier* barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(barrier))
      : "memory");
}

constexpr int kSteps = kSliceK / kStepK;  // of the inner loop, in a phase

// One operand of the block's tile. A "line" is a row of op(A) or a column of op(B): seen so, both
// operands are lines of K elements, and a result is the product of two lines. Shared memory keeps
// them k after k.
//   kLines    of the tile
//   kAlongK   memory holds a line's elements side by side: they are packed, or threads copy them
template <int kLines, bool kAlongK>
struct Operand {
  static constexpr int kTileLines = kLines;
  static constexpr bool kPacked = kAlongK && PACK;
  static constexpr bool kByThreads = kAlongK && !PACK;
  static constexpr bool kByLine = false;
  // From one k to the next. The space between lets threads write 8 k of 4 lines at once.
  static constexpr int kPitch = kLines + (kByThreads ? 4 : 0);
  static constexpr int kSize = (kPitch * BLOCK_K + 31) / 32 * 32;
  static constexpr int kBoxBytes = kByThreads ? 0 : 4 * kLines * BLOCK_K;

  static __device__ __forceinline__ int place(int line, int k) { return k * kPitch + line; }

  // Threads side by side have 8 neighbours along K; each copies BLOCK_K / 8 elements of every
  // kLineStep-th line.
  static constexpr int kLineStep = kThreads / 8;
  static constexpr int kLinesEach = (kLines + kLineStep - 1) / kLineStep;
  static constexpr int kLinesAStep = (kLinesEach + kSteps - 1) / kSteps;

  const TensorMap& map;
  int first_line, first_k;  // of the tile, in the matrix
  // This thread's first element of the phase that is copied next; of an operand that is packed the
  // first phase.
  const float* phase;
  const float* next;    // and of the line that is
  long long line_step;  // elements from one of its lines to the next
  int lines_left;       // lines of the matrix from the tile's first on, at most kLines

  // packed: the tile in the scratch.
  __device__ __forceinline__ Operand(const TensorMap& tensor_map, const float* packed,
                                     const float* source, long long ld, long long lines,
                                     long long line, long long k)
      : map(tensor_map), first_line(static_cast<int>(line)), first_k(static_cast<int>(k)) {
    phase = kPacked ? packed : source + (line + own_line()) * ld + k + own_k();
    next = phase;
    line_step = ld * kLineStep;
    lines_left = lines - line < kLines ? static_cast<int>(lines - line) : kLines;
  }

  static __device__ __forceinline__ int own_line() { return threadIdx.x / 8; }
  static __device__ __forceinline__ int own_k() { return threadIdx.x % 8; }

  // Asks for a whole phase; by one thread.
  __device__ __forceinline__ void ask(float* to, int phase_index, Barrier* barrier) const {
    if (kPacked) {
      copy_bytes(to, phase + static_cast<long long>(phase_index) * kSize, kBoxBytes, barrier);
    } else if (!kByThreads) {
      copy_box(to, map, first_line, first_k + phase_index * BLOCK_K, barrier);
    }
  }

  // Begins this thread's copies for one step of the phase of which the matrix has k_left elements
  // of each line, or a negative number.
  __device__ __forceinline__ void copy_step(float* to, int step, int k_left) {
    if (!kByThreads) return;
    to += place(own_line(), own_k());
#pragma unroll
    for (int i = 0; i < kLinesAStep; ++i) {
      const int round = step * kLinesAStep + i;
      if (kLinesEach % kSteps != 0 && round >= kLinesEach) break;
      const int line = own_line() + round * kLineStep;
      if (kLines % kLineStep != 0 && line >= kLines) break;
      const int k_here = line < lines_left ? k_left - own_k() : 0;
#pragma unroll
      for (int k = 0; k < BLOCK_K; k += 8) {
        copy_or_zero(to + place(round * kLineStep, k), next + k, k < k_here);
      }
      next += line_step;
    }
  }

  __device__ __forceinline__ void next_phase() {
    phase += BLOCK_K;
    next = phase;
  }
};

using OperandA = Operand<kTileM, !TRANSPOSE_A>;
using OperandB = Operand<kTileN, TRANSPOSE_B>;
constexpr bool kAnyByThreads = OperandA::kByThreads || OperandB::kByThreads;
constexpr bool kAnyByTma = !OperandA::kByThreads || !OperandB::kByThreads;
constexpr int kStage = OperandA::kSize + OperandB::kSize;
constexpr int kExchanged = SLICES > 1 ? kThreads* kResults / 2 : 0;
constexpr int kBuffers = STAGES * kStage > kExchanged ? STAGES* kStage : kExchanged;
constexpr int kSharedFloats = kBuffers + 2 * STAGES * sizeof(Barrier) / sizeof(float);
static_assert(kSharedFloats * sizeof(float) <= 227 * 1024, "an SM has no more shared memory");
using SideM = Side<THREAD_M, LANES_M, false>;
using SideN = Side<THREAD_N, kLanesN, false>;
using FragmentA = Fragment<OperandA, SideM, THREAD_M>;
using FragmentB = Fragment<OperandB, SideN, THREAD_N>;

#include "device/partial_sums.cuh"
#include "device/products.cuh"
#include "device/store.cuh"

// A buffer of those that are used in turn.
struct Place {
  int stage;
  int offset = stage * kStage;  // of its elements in shared memory
  unsigned round = 0;           // how often all were used before: 0, 1, 0, 1 and so on

  __device__ __forceinline__ void next() {
    offset += kStage;
    if (++stage == STAGES) {
      stage = 0;
      offset = 0;
      round ^= 1;
    }
  }
};

// The buffers, and how their phases get into them.
struct Pipeline {
  static constexpr int kWarps = kThreads / 32;
  static constexpr int kAhead = STAGES - 2;  // phases

  float* shared;
  Barrier* filled;  // of each buffer: its phase has arrived
  Barrier* left;    // all warps are done with its phase
  OperandA a;
  OperandB b;
  int k_count;
  int phases;

  __device__ __forceinline__ Pipeline(float* buffers, Barrier* barriers, const OperandA& of_a,
                                      const OperandB& of_b, int k)
      : shared(buffers), filled(barriers), left(barriers + STAGES), a(of_a), b(of_b), k_count(k) {
    phases = (k - 1) / BLOCK_K + 1;
  }

  static __device__ __forceinline__ void open(Barrier* barriers) {
    for (int stage = 0; stage < STAGES; ++stage) {
      open_barrier(barriers + stage, kAnyByTma + (kAnyByThreads ? kThreads : 0));
      open_barrier(barriers + STAGES + stage, kWarps);
    }
    publish_barriers();
  }

  // By one thread, when all warps have left the place.
  __device__ __forceinline__ void ask(const Place& place, int phase) const {
    if (!kAnyByTma) return;
    arrive_expecting(filled + place.stage, OperandA::kBoxBytes + OperandB::kBoxBytes);
    a.ask(shared + place.offset, phase, filled + place.stage);
    b.ask(shared + place.offset + OperandA::kSize, phase, filled + place.stage);
  }

  // By all threads. Phases beyond the last are zeros that nobody reads.
  __device__ __forceinline__ void copy_step(const Place& place, int phase, int step) {
    const int k_left = static_cast<int>(k_count - static_cast<unsigned>(phase) * BLOCK_K);
    a.copy_step(shared + place.offset, step, k_left);
    b.copy_step(shared + place.offset + OperandA::kSize, step, k_left);
  }
  __device__ __forceinline__ void end_copies(const Place& place) {
    if (!kAnyByThreads) return;
    arrive_with_copies(filled + place.stage);
    a.next_phase();
    b.next_phase();
  }

  // The first phases.
  __device__ __forceinline__ void begin() {
    if (threadIdx.x == 0) {
      Place place{0};
      for (int phase = 0; phase < least(kAhead, phases); ++phase, place.next()) ask(place, phase);
    }
    if (!kAnyByThreads) return;
    Place place{0};
#pragma unroll 1
    for (int phase = 0; phase < kAhead; ++phase, place.next()) {
#pragma unroll 1
      for (int step = 0; step < kSteps; ++step) copy_step(place, phase, step);
      end_copies(place);
    }
  }

  // When a phase begins: makes sure that the place for the one kAhead of it is free, and lets one
  // warp ask for what TMA copies.
  __device__ __forceinline__ void begin_phase(int phase, const Place& filling) const {
    if (kAnyByThreads) await(left + filling.stage, filling.round ^ 1);
    if (static_cast<unsigned>(phase) % kWarps != threadIdx.x / 32) return;
    if (threadIdx.x % 32 == 0 && phase + kAhead < phases) {
      if (!kAnyByThreads) await(left + filling.stage, filling.round ^ 1);
      ask(filling, phase + kAhead);
    }
    __syncwarp();
  }
};

// Adds the products of all phases.
__device__ __forceinline__ void accumulate(Pipeline& pipeline, const Position& position,
                                           Sums& sums) {
  const int first_k = position.slice * kSliceK;
  int first_a = OperandA::place(position.row, first_k);  // this thread's places in a buffer
  int first_b = OperandA::kSize + OperandB::place(position.column, first_k);
  // The compiler shall keep them, not compute them again and again.
  asm volatile("" : "+r"(first_a), "+r"(first_b));

  pipeline.begin();
  Place reading{0};
  Place filling{Pipeline::kAhead};
  int phase = 0;
  int step = 0;
  const float* own_a = pipeline.shared + first_a;  // for the step's first k
  const float* own_b = pipeline.shared + first_b;
  const auto next_step = [&] {
    if (++step < kSteps) {
      own_a += OperandA::place(0, kStepK);
      own_b += OperandB::place(0, kStepK);
      return;
    }
    step = 0;
    finish_reads();
    __syncwarp();
    if (threadIdx.x % 32 == 0) arrive(pipeline.left + reading.stage);
    pipeline.end_copies(filling);
    ++phase;
    // Behind the last phase k = 0 of this one is read again, in vain: zeros may come to the next.
    if (phase < pipeline.phases) reading.next();
    filling.next();
    own_a = pipeline.shared + reading.offset + first_a;
    own_b = pipeline.shared + reading.offset + first_b;
    if (phase < pipeline.phases) await(pipeline.filled + reading.stage, reading.round);
    pipeline.begin_phase(phase, filling);
  };

  pipeline.begin_phase(0, filling);
  await(pipeline.filled, 0);
  FragmentA fragments_a[2];
  FragmentB fragments_b[2];
  fragments_a[0].load(own_a, 0);
  fragments_b[0].load(own_b, 0);
#pragma unroll 1
  for (int steps = pipeline.phases * kSteps; steps > 0; --steps) {
    pipeline.copy_step(filling, phase + Pipeline::kAhead, step);
#pragma unroll
    for (int k = 0; k < kStepK; ++k) {
      const int loaded = k + 1;
      if (loaded == kStepK) next_step();
      fragments_a[loaded % 2].load(own_a, loaded % kStepK);
      fragments_b[loaded % 2].load(own_b, loaded % kStepK);
      multiply(fragments_a[k % 2], fragments_b[k % 2], k, sums);
    }
  }
  await_all_copies();
}

// Where the tile lies. Boxes begin at whole 16 bytes: along an operand with a map the last tile is
// moved back as if the matrix ended so, too. What is beyond it is zeros, which nobody stores.
template <typename Operand>
__device__ __forceinline__ TileSpan span_of(unsigned index, long long all) {
  constexpr bool kMapped = !Operand::kByThreads && !Operand::kPacked;
  TileSpan span(index, Operand::kTileLines, kMapped ? (all + 3) / 4 * 4 : all);
  const long long left = all - span.first - span.skipped;
  if (kMapped && left < span.owned) span.owned = static_cast<unsigned>(left);
  return span;
}

// Where the scratch has the first phase of a tile of A, or of B behind all of A's. phases: of a
// tile.
__device__ __forceinline__ float* packed_tile_of_a(float* scratch, long long tile,
                                                   long long phases) {
  return scratch + kCounters + tile * phases * OperandA::kSize;
}
__device__ __forceinline__ float* packed_tile_of_b(float* scratch, long long tile, long long phases,
                                                   unsigned tiles_of_a) {
  float* const behind_a =
      OperandA::kPacked ? packed_tile_of_a(scratch, tiles_of_a, phases) : scratch + kCounters;
  return behind_a + tile * phases * OperandB::kSize;
}

#if PACK && (!TRANSPOSE_A || TRANSPOSE_B)
static_assert(SPLIT_K == 1, "a tile has one block");

// Packs a tile's phase, with zeros beyond the matrix. first: the tile's first element of it;
// lines_left, k_left: what the matrix has of it.
template <typename Operand>
__device__ __forceinline__ void pack(const float* first, long long ld, long long lines_left,
                                     long long k_left, float* packed, float* shared) {
  constexpr int kLines = Operand::kTileLines;
  constexpr int kPitch = kLines + 1;
  constexpr int kWidth = ALIGNED ? 4 : 1;
  constexpr int kAcross = BLOCK_K / kWidth;  // threads side by side
  constexpr int kReads = Operand::kSize / (kThreads * kWidth);
  static_assert(kLines * BLOCK_K == Operand::kSize && kReads > 0, "there is work for all threads");
  const int own_k = threadIdx.x % kAcross * kWidth;
  const int own_line = threadIdx.x / kAcross;
  Vector<kWidth> elements[kReads];
#pragma unroll
  for (int i = 0; i < kReads; ++i) {
    const int line = own_line + i * (kThreads / kAcross);
    elements[i] = {};
    if (line < lines_left && own_k < k_left) elements[i] = read<kWidth>(first + line * ld + own_k);
  }
#pragma unroll
  for (int i = 0; i < kReads; ++i) {
    const int line = own_line + i * (kThreads / kAcross);
#pragma unroll
    for (int e = 0; e < kWidth; ++e) shared[(own_k + e) * kPitch + line] = elements[i].at[e];
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < Operand::kSize / (4 * kThreads); ++i) {
    const int place = 4 * static_cast<int>(threadIdx.x + i * kThreads);
    Vector<4> lines;
#pragma unroll
    for (int e = 0; e < 4; ++e) lines.at[e] = shared[place / kLines * kPitch + place % kLines + e];
    write<4>(packed + place, lines);
  }
}

// A block for each phase of each tile, A's first: of operands that lie along K alone. Arguments and
// block as gemm_tma has them.
extern "C" __global__ void __launch_bounds__(kThreads)
    gemm_tma_pack(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                  long long m, long long n, long long k, long long lda, long long ldb,
                  long long ldc, float alpha, float beta, float* __restrict__ scratch) {
  constexpr int kMostLines =
      OperandA::kPacked && (!OperandB::kPacked || kTileM > kTileN) ? kTileM : kTileN;
  __shared__ float shared[BLOCK_K * (kMostLines + 1)];
  const auto phases = static_cast<unsigned>((k - 1) / BLOCK_K + 1);
  const auto tiles_m = static_cast<unsigned>((m - 1) / kTileM + 1);
  const unsigned tile = blockIdx.x / phases;
  const long long phase = blockIdx.x % phases;
  const long long first_k = phase * BLOCK_K;
  const unsigned tiles_of_a = OperandA::kPacked ? tiles_m : 0;
  if (OperandA::kPacked && tile < tiles_of_a) {
    const long long line = span_of<OperandA>(tile, m).first;
    pack<OperandA>(a + line * lda + first_k, lda, m - line, k - first_k,
                   packed_tile_of_a(scratch, tile, phases) + phase * OperandA::kSize, shared);
  } else if (OperandB::kPacked) {
    const long long line = span_of<OperandB>(tile - tiles_of_a, n).first;
    pack<OperandB>(
        b + line * ldb + first_k, ldb, n - line, k - first_k,
        packed_tile_of_b(scratch, tile - tiles_of_a, phases, tiles_m) + phase * OperandB::kSize,
        shared);
  }
}
#endif

extern "C" __global__ void __launch_bounds__(kThreads, MIN_BLOCKS)
    gemm_tma(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
             long long m, long long n, long long k, long long lda, long long ldb, long long ldc,
             float alpha, float beta, float* __restrict__ scratch,
             const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b) {
  extern __shared__ __align__(128) float shared[];
  const auto barriers = reinterpret_cast<Barrier*>(shared + kBuffers);
  if (threadIdx.x == 0) Pipeline::open(barriers);
  __syncthreads();

  const Gemm gemm{c, m, n, ldc, alpha, beta};
  const Position position;
  const unsigned tiles_m = static_cast<unsigned>((m - 1) / kTileM + 1);
  const unsigned tiles_n = static_cast<unsigned>((n - 1) / kTileN + 1);
  const Schedule schedule(static_cast<long long>(tiles_m) * tiles_n, k);
  const auto tile = static_cast<unsigned>(SPLIT_K == 1 ? blockIdx.x : schedule.tile_of(blockIdx.x));
  const TilePosition at(tile, tiles_m, tiles_n);
  const TileSpan in_m = span_of<OperandA>(at.along_m, m);
  const TileSpan in_n = span_of<OperandB>(at.along_n, n);

  long long first_k = 0;
  long long k_end = k;
  if (SPLIT_K != 1) {
    const long long of_tile = tile * schedule.phases_per_tile;
    first_k = (schedule.begin(blockIdx.x) - of_tile) * BLOCK_K;
    const long long end = (schedule.begin(blockIdx.x + 1LL) - of_tile) * BLOCK_K;
    if (end < k) k_end = end;
  }
  const long long phases = schedule.phases_per_tile;
  const float* const packed_a = packed_tile_of_a(scratch, at.along_m, phases);
  const float* const packed_b = packed_tile_of_b(scratch, at.along_n, phases, tiles_m);
  Pipeline pipeline(shared, barriers, OperandA(map_a, packed_a, a, lda, m, in_m.first, first_k),
                    OperandB(map_b, packed_b, b, ldb, n, in_n.first, first_k),
                    static_cast<int>(k_end - first_k));
  Sums sums = {};
  accumulate(pipeline, position, sums);
  float* const results = &sums[0][0];
  add_slices<SLICES, kResults>(results, shared);
  if (SPLIT_K != 1 && k_end - first_k < k) {
    const Parts parts(scratch, schedule, tile, static_cast<long long>(tiles_m) * tiles_n);
    if (!add_blocks(parts, shared, results)) return;
  }
  gemm.store(results, position.slice * kOfSlice, in_m, in_n, nullptr);
}
