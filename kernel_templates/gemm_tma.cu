// gemm_tma: C = alpha * op(A) * op(B) + beta * C in strict FP32 for compute capability 9.0, where
// the copy unit (TMA) and warps of their own bring operands to shared memory.
//
// The block's tile, its warps and lanes, and what they add up are those of gemm_simt. What differs
// is how the operands get there. Memory holds op(B) row after row and op(A)'s transpose likewise:
// of such an operand one instruction asks for a whole phase of BLOCK_K rows, and the unit supplies
// zeros beyond the matrix. An operand that lies along K in memory must be transposed on the way,
// which the unit cannot do, nor can it copy rows that do not begin at multiples of 16 bytes: their
// elements are copied singly. All that is done by four warps, one for each of the SM's schedulers,
// which take the cycles that the warps which multiply leave; these in turn get most of the copying
// warps' registers, and their inner loop has nothing but products. CUTLASS's kernels for tensor
// cores divide their work so. Warps do not wait for each other: each buffer has a barrier that says
// when it is filled and one that says when all warps have left it.
//
// A result is one chain of fused multiply-adds over k = 0 .. K-1 that starts at 0, unless SLICES or
// SPLIT_K share it; then the parts are added in an order that is always the same. Zeros beyond K
// turn a sum of -0, which only underflow can leave, into +0.
//
// Matrices are row-major with leading dimensions in elements; 1 <= m, n, k < 2^31.
// Launch: kThreads + kCopyThreads threads, kSharedFloats of dynamic shared memory; blocks along x:
// as many as C has tiles, or for each tile any number with SPLIT_K, a multiple of CLUSTER; with
// SPLIT_K == 0 any number up to the phases of all tiles. scratch, raster and the tensor maps, which
// ALIGNED code has: see kernel_template.hpp. Code for any later device, too (compute_90), cannot
// move registers from warp to warp and has too few of them for large tiles.

// Results of one lane along each side: 8 or 16.
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

// Parts of each phase that different warps of the block multiply: 1, 2, 4 or 8.
#ifndef SLICES
#define SLICES 1
#endif

// Elements of K in a phase: 16, 32, 64 or 128.
#ifndef BLOCK_K
#define BLOCK_K 32
#endif

// Buffers in shared memory, each for one phase: 3, 4, 6 or 8.
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

// Blocks that share the work of one tile: 1, or with any larger value as many as the launch has for
// each. 0: the launch has as many blocks as run at once, which take whole tiles in turn and share
// the last ones evenly; the next tile's operands are brought while results are stored.
#ifndef SPLIT_K
#define SPLIT_K 1
#endif

// Neighbours among those blocks that add up in each other's shared memory before they write to
// global memory: 1 or 2.
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

#define COPYING_WARPS
#include "device/barrier.cuh"
#include "device/launch_order.cuh"
#include "device/thread_tile.cuh"

// What the driver makes of an operand's place and shape (CUtensorMap).
struct alignas(64) TensorMap {
  unsigned long long words[16];
};

// The threads that copy, behind the kThreads that multiply. A multiple of 128, as these are:
// registers are moved by whole groups of four warps.
constexpr int kCopyThreads = 128;
// Of a thread when the kernel starts, of one that copies and of one that multiplies afterwards.
constexpr int kFirstRegisters = 65536 / (MIN_BLOCKS * (kThreads + kCopyThreads)) / 8 * 8;
constexpr int kCopyRegisters = 40;
constexpr int kFreeRegisters =
    kFirstRegisters * (kThreads + kCopyThreads) - kCopyRegisters * kCopyThreads;
constexpr int kRegisters = least(kFreeRegisters / kThreads / 8 * 8, 240);
static_assert(SPLIT_K != 0 || (SLICES == 1 && CLUSTER == 1), "buffers and barriers are in use");
static_assert(kThreads % 128 == 0 && kFirstRegisters < kRegisters && kFirstRegisters <= 240);

#include "device/cluster.cuh"

// What the copy unit writes afterwards cannot overtake this thread's reads before. Without it, a
// warp's last reads of a phase may still be waiting when the next one is there: on an H200 that
// showed where shared memory is busiest, in up to 3 of 100 launches.
__device__ __forceinline__ void finish_reads() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Arrives when this thread's copies so far have.
__device__ __forceinline__ void arrive_with_copies(Barrier* barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(barrier))
               : "memory");
}

// One element, or 0 in its place: kFrom bytes behind `from`, to kTo bytes behind `to`. The machine
// adds what is known beforehand at no cost.
template <int kTo, int kFrom>
__device__ __forceinline__ void copy_or_zero(unsigned to, const float* from, bool is_there) {
  asm volatile("cp.async.ca.shared.global [%0 + %3], [%1 + %4], 4, %2;" ::"r"(to), "l"(from),
               "r"(is_there ? 4 : 0), "n"(kTo), "n"(kFrom));
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

// CUDA before 12.9 has the second alone, for compute capability 9.0.
#if defined(__CUDA_ARCH_SPECIFIC__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define MOVES_REGISTERS
#endif

// By all warps of a group: each thread keeps so many registers and gives the others back, or waits
// until it has so many. Only code for one architecture alone can do so.
template <int kCount>
__device__ __forceinline__ void keep_registers() {
#ifdef MOVES_REGISTERS
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCount));
#endif
}
template <int kCount>
__device__ __forceinline__ void take_registers() {
#ifdef MOVES_REGISTERS
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kCount));
#endif
}

// One operand of the block's tile. A "line" is a row of op(A) or a column of op(B): seen so, both
// operands are lines of K elements, and a result is the product of two lines. Shared memory keeps
// them k after k.
//   kLines    of the tile
//   kAlongK   memory holds a line's elements side by side, else those of one k
template <int kLines, bool kAlongK>
struct Operand {
  static constexpr bool kByThreads = kAlongK || !ALIGNED;
  static constexpr bool kByLine = false;
  // From one k to the next. The space between lets threads write 8 k of 4 lines at once.
  static constexpr int kPitch = kLines + (kAlongK ? 4 : 0);
  static constexpr int kSize = (kPitch * BLOCK_K + 31) / 32 * 32;
  static constexpr int kBoxBytes = kByThreads ? 0 : 4 * kLines * BLOCK_K;

  static __device__ __forceinline__ int place(int line, int k) { return k * kPitch + line; }

  // A phase as memory has it: rows of neighbours. Threads side by side have neighbours, and each
  // copies one in kNeighbours elements of one in kRowStep rows.
  static constexpr int kRows = kAlongK ? kLines : BLOCK_K;
  static constexpr int kColumns = kAlongK ? BLOCK_K : kLines;
  static constexpr int kNeighbours = kAlongK ? 8 : 32;
  static constexpr int kRowStep = kCopyThreads / kNeighbours;
  static_assert(kRows % kRowStep == 0 && kColumns % kNeighbours == 0, "all copy as many elements");
  // That the code has side by side. Longer code costs the warps that multiply well chosen
  // registers.
  static constexpr int kRowsAtOnce = kAlongK ? kRows / kRowStep : 4;
  // From one row to the next and from one neighbour to the next, in shared memory.
  static constexpr int kRowPitch = kAlongK ? 1 : kPitch;
  static constexpr int kColumnPitch = kAlongK ? kPitch : 1;

  const TensorMap& map;
  int first_line, first_k;  // of the tile, in the matrix
  const float* own;         // this thread's first element of the phase that is copied next
  long long row_step;       // elements from one of its rows to the next
  int lines_left;           // lines of the matrix from the tile's first on, at most kLines

  __device__ __forceinline__ Operand(const TensorMap& tensor_map, const float* source, long long ld,
                                     long long lines, long long line, long long k)
      : map(tensor_map), first_line(static_cast<int>(line)), first_k(static_cast<int>(k)) {
    const long long row = kAlongK ? line : k;
    own = source + (row + own_row()) * ld + (kAlongK ? k : line) + own_column();
    row_step = ld * kRowStep;
    lines_left = lines - line < kLines ? static_cast<int>(lines - line) : kLines;
  }

  static __device__ __forceinline__ int own_row() { return (threadIdx.x - kThreads) / kNeighbours; }
  static __device__ __forceinline__ int own_column() {
    return (threadIdx.x - kThreads) % kNeighbours;
  }

  // Asks for a whole phase; by one thread.
  __device__ __forceinline__ void ask(float* to, int phase, Barrier* barrier) const {
    if (!kByThreads) copy_box(to, map, first_line, first_k + phase * BLOCK_K, barrier);
  }

  // Begins this thread's copies of the next phase, of which the matrix has k_left elements of each
  // line.
  __device__ __forceinline__ void copy(float* to, int k_left) {
    if (!kByThreads) return;
    const int rows_left = kAlongK ? lines_left : k_left;
    const int columns_left = (kAlongK ? k_left : lines_left) - own_column();
    const unsigned own_place =
        shared_address(to + own_row() * kRowPitch + own_column() * kColumnPitch);
    const float* from = own;
#pragma unroll kRowsAtOnce
    for (int row = 0; row < kRows; row += kRowStep) {
      copy_row<0>(own_place + 4 * row * kRowPitch, from,
                  own_row() + row < rows_left ? columns_left : 0);
      from += row_step;
    }
    own = kAlongK ? own + BLOCK_K : from;
  }

 private:
  // Copies one in kNeighbours elements of a row, from one on; columns_left: that there are.
  template <int kColumn>
  static __device__ __forceinline__ void copy_row(unsigned to, const float* from,
                                                  int columns_left) {
    if constexpr (kColumn < kColumns) {
      copy_or_zero<4 * kColumn * kColumnPitch, 4 * kColumn>(to, from, kColumn < columns_left);
      copy_row<kColumn + kNeighbours>(to, from, columns_left);
    }
  }
};

using OperandA = Operand<kTileM, !TRANSPOSE_A>;
using OperandB = Operand<kTileN, TRANSPOSE_B>;
constexpr bool kAnyByThreads = OperandA::kByThreads || OperandB::kByThreads;
constexpr bool kAnyByTma = !OperandA::kByThreads || !OperandB::kByThreads;
constexpr int kCopyingThreads = kAnyByThreads ? kCopyThreads : 1;
constexpr int kStage = OperandA::kSize + OperandB::kSize;
constexpr int kExchanged = SLICES > 1 ? kThreads* kResults / 2 : 0;
constexpr int kBuffers = STAGES * kStage > kExchanged ? STAGES* kStage : kExchanged;
constexpr int kBarrierFloats = 2 * STAGES * sizeof(Barrier) / sizeof(float);
// Where warps exchange results: with SPLIT_K == 0 operands may be arriving in the buffers.
constexpr int kExchange = SPLIT_K == 0 ? 4 * kThreads : 0;
constexpr int kSharedFloats = kBuffers + kBarrierFloats + kExchange + Cluster::kFloats;
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

// The buffers, and what says when they are filled and when they are free.
struct Buffers {
  static constexpr int kWarps = kThreads / 32;  // that multiply

  float* shared;
  Barrier* filled;  // of each buffer: its phase has arrived
  Barrier* left;    // all warps are done with its phase

  __device__ __forceinline__ explicit Buffers(float* all)
      : shared(all), filled(reinterpret_cast<Barrier*>(all + kBuffers)), left(filled + STAGES) {}

  // By one thread, before others use them.
  __device__ __forceinline__ void open() const {
    for (int stage = 0; stage < STAGES; ++stage) {
      open_barrier(filled + stage, kAnyByTma + (kAnyByThreads ? kCopyThreads : 0));
      open_barrier(left + stage, kWarps);
    }
    publish_barriers();
  }
  __device__ __forceinline__ void await_filled(const Place& place) const {
    await(filled + place.stage, place.round);
  }
  __device__ __forceinline__ void await_left(const Place& place) const {
    await(left + place.stage, place.round ^ 1);
  }
  // By a whole warp.
  __device__ __forceinline__ void leave(const Place& place) const {
    if (kAnyByTma) finish_reads();
    __syncwarp();
    if (threadIdx.x % 32 == 0) arrive(left + place.stage);
  }
};

__device__ __forceinline__ int phases_of(int k_count) {
  return (k_count - 1) / BLOCK_K + 1;
}

// Brings all phases, from `place` on; by the kCopyingThreads behind those that multiply.
__device__ __forceinline__ void bring(const Buffers& buffers, Place& place, OperandA a, OperandB b,
                                      int k_count) {
  const int phases = phases_of(k_count);
#pragma unroll 1
  for (int phase = 0; phase < phases; ++phase, place.next()) {
    float* const to_a = buffers.shared + place.offset;
    float* const to_b = to_a + OperandA::kSize;
    Barrier* const filled = buffers.filled + place.stage;
    buffers.await_left(place);
    if (kAnyByTma && threadIdx.x == kThreads) {
      arrive_expecting(filled, OperandA::kBoxBytes + OperandB::kBoxBytes);
      a.ask(to_a, phase, filled);
      b.ask(to_b, phase, filled);
    }
    if (!kAnyByThreads) continue;
    a.copy(to_a, k_count - phase * BLOCK_K);
    b.copy(to_b, k_count - phase * BLOCK_K);
    arrive_with_copies(filled);
  }
}

// Adds the products of all phases, which are at `reading` and the places behind it.
__device__ __forceinline__ void accumulate(const Buffers& buffers, Place& reading,
                                           const Position& position, int k_count, Sums& sums) {
  constexpr int kSteps = kSliceK / kStepK;  // of the inner loop, in a phase
  const int first_k = position.slice * kSliceK;
  int first_a = OperandA::place(position.row, first_k);  // this thread's places in a buffer
  int first_b = OperandA::kSize + OperandB::place(position.column, first_k);
  // The compiler shall keep them, not compute them again and again.
  asm volatile("" : "+r"(first_a), "+r"(first_b));

  int phases_left = phases_of(k_count);
  int step = 0;
  const float* own_a = buffers.shared + reading.offset + first_a;  // for the step's first k
  const float* own_b = buffers.shared + reading.offset + first_b;
  const auto next_step = [&] {
    if (++step < kSteps) {
      own_a += OperandA::place(0, kStepK);
      own_b += OperandB::place(0, kStepK);
      return;
    }
    step = 0;
    buffers.leave(reading);
    if (--phases_left > 0) {
      reading.next();
      buffers.await_filled(reading);
    }
    // Behind the last phase k = 0 of this one is read again, in vain.
    own_a = buffers.shared + reading.offset + first_a;
    own_b = buffers.shared + reading.offset + first_b;
  };

  buffers.await_filled(reading);
  FragmentA fragments_a[2];
  FragmentB fragments_b[2];
  fragments_a[0].load(own_a, 0);
  fragments_b[0].load(own_b, 0);
#pragma unroll 1
  while (phases_left > 0) {
#pragma unroll
    for (int k = 0; k < kStepK; ++k) {
      const int loaded = k + 1;
      if (loaded == kStepK) next_step();
      fragments_a[loaded % 2].load(own_a, loaded % kStepK);
      fragments_b[loaded % 2].load(own_b, loaded % kStepK);
      multiply(fragments_a[k % 2], fragments_b[k % 2], k, sums);
    }
  }
  reading.next();
}

// Where a share's tile lies, and its part of K.
struct Task {
  TileSpan in_m, in_n;
  long long first_k;
  int k_count;

  __device__ __forceinline__ Task(const Share& share, const Tiles& tiles, long long m, long long n,
                                  long long k)
      : Task(share, TilePosition(share.tile, tiles), m, n, k) {}

 private:
  __device__ __forceinline__ Task(const Share& share, const TilePosition& at, long long m,
                                  long long n, long long k)
      : in_m(at.along_m, kTileM, m), in_n(at.along_n, kTileN, n), first_k(share.first_k()) {
    const long long k_end = share.k_end(k);
    // A cluster's second block may have nothing of K.
    k_count = CLUSTER > 1 && k_end < first_k ? 0 : static_cast<int>(k_end - first_k);
  }
};

extern "C" __global__ void IN_CLUSTERS __launch_bounds__(kThreads + kCopyThreads, MIN_BLOCKS)
    gemm_tma(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
             long long m, long long n, long long k, long long lda, long long ldb, long long ldc,
             float alpha, float beta, float* __restrict__ scratch, unsigned raster,
             const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b) {
  extern __shared__ __align__(128) float shared[];
  const Buffers buffers(shared);
  const Cluster cluster(shared + kBuffers + kBarrierFloats + kExchange);
  if (threadIdx.x == 0) buffers.open();
  cluster.open();
  __syncthreads();

  const Tiles tiles{static_cast<unsigned>((m - 1) / kTileM + 1),
                    static_cast<unsigned>((n - 1) / kTileN + 1), raster};
  const long long all_tiles = static_cast<long long>(tiles.along_m) * tiles.along_n;
  const Schedule schedule(all_tiles, k);
  Worklist worklist(schedule);
  Share share = worklist.first();

  cluster.await_open();
  await_launch_before(static_cast<int>(share.end));
  if (threadIdx.x >= kThreads) {
    keep_registers<kCopyRegisters>();
    if (threadIdx.x < kThreads + kCopyingThreads) {
      Place filling{0};
      do {
        const Task task(share, tiles, m, n, k);
        bring(buffers, filling, OperandA(map_a, a, lda, m, task.in_m.first, task.first_k),
              OperandB(map_b, b, ldb, n, task.in_n.first, task.first_k), task.k_count);
      } while (worklist.next(share));
      await_all_copies();
    }
    return;
  }
  take_registers<kRegisters>();
  const Gemm gemm{c, m, n, ldc, alpha, beta};
  const Position position;
  Place reading{0};
  do {
    const Task task(share, tiles, m, n, k);
    Sums sums = {};
    accumulate(buffers, reading, position, task.k_count, sums);
    float* const results = &sums[0][0];
    add_slices<SLICES, kResults>(results, shared);
    cluster.add(results);
    if (SPLIT_K != 1 && (CLUSTER > 1 || task.k_count < k)) {
      const Parts parts(scratch, schedule, share.tile, all_tiles);
      if ((CLUSTER == 1 || parts.count > 1) && !add_blocks(parts, results)) continue;
    }
    gemm.store(results, position.slice * kOfSlice + Cluster::rank() * kOfBlock, task.in_m,
               task.in_n,
               ALIGNED        ? nullptr
               : SPLIT_K == 0 ? shared + kBuffers + kBarrierFloats
                              : shared);
  } while (worklist.next(share));
}
