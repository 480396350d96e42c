// gemm_tma: C = alpha * op(A) * op(B) + beta * C in strict FP32 for compute capability 9.0, where
// the Tensor Memory Accelerator (TMA) and warps of their own copy the operands to shared memory.
//
// The block's tile, its warps and lanes, and the addition of partial sums are those of gemm_simt;
// the copies differ. An operand that is MN-major in global memory (op(B), or op(A) of a transposed
// A) is copied by TMA: one instruction copies a whole k_tile of BLOCK_K rows and writes zeros for
// elements beyond the matrix. An operand that is K-major must be transposed by its copies, which
// TMA cannot do; nor can TMA copy rows that do not begin at multiples of 16 bytes. The elements of
// such operands are copied one by one (cp.async). Four producer warps do both, one for each
// scheduler of the SM, in the cycles that the consumer warps leave; the consumers in turn get most
// registers of the producers, and their inner loop consists of products alone. CUTLASS's kernels
// for tensor cores are divided in this way too. The warps synchronize through two barriers for each
// buffer: `full`, that its k_tile has arrived, and `empty`, that all consumer warps have read it.
//
// A result is one chain of fused multiply-adds over k = 0 .. K-1 that starts at 0, unless SLICE_K
// or SPLIT_K share it; then the parts are added in an order that is always the same. Zeros beyond K
// may turn a sum of -0, which only underflow can leave, into +0.
//
// Matrices are row-major with leading dimensions in elements; 1 <= m, n, k < 2^31.
// Launch: kThreads + kCopyThreads threads and kSharedElements elements of dynamic shared memory.
// Blocks along x: one for each tile of C; with SPLIT_K any number for each tile, a multiple of
// CLUSTER; with SPLIT_K == 0 any number up to the k_tiles of all tiles. workspace, raster and the
// tensor maps, which only code with ALIGNED uses: see kernel_template.hpp. Code that runs on later
// devices too (compute_90) cannot reallocate registers and has too few of them for large tiles.
// Batches: see device/batch.cuh; their tensor maps have the matrices of a batch as third extent,
// one where all products have the same.

// The parameters are in device/tile_parameters.cuh; these are the defaults that differ.
#ifndef RESULTS_N
#define RESULTS_N 16
#endif
#ifndef BLOCK_K
#define BLOCK_K 32
#endif
#ifndef STAGES
#define STAGES 4
#endif

// Producer threads, behind the kThreads consumers. Both are multiples of 128, because registers are
// reallocated by whole groups of four warps.
#define COPY_THREADS 128

#include "device/barrier.cuh"
#include "device/batch.cuh"
#include "device/cluster.cuh"
#include "device/cp_async.cuh"
#include "device/element.cuh"
#include "device/epilogue.cuh"
#include "device/grid_dependency.cuh"
#include "device/register_tile.cuh"
#include "device/scale_alone.cuh"
#include "device/split_k.cuh"
#include "device/tile_parameters.cuh"
#include "device/tma_operand.cuh"
#include "device/vector.cuh"

using namespace autotune_device;

static_assert(sizeof(ElementA) == 4 && sizeof(ElementB) == 4 && sizeof(Accumulator) == 4,
              "elements are copied one by one as 32-bit words");

constexpr int kCopyThreads = COPY_THREADS;
// Registers of a thread when the kernel starts, then of a producer thread and of a consumer thread.
constexpr int kFirstRegisters = 65536 / (MIN_BLOCKS * (kThreads + kCopyThreads)) / 8 * 8;
constexpr int kCopyRegisters = 40;
constexpr int kFreeRegisters =
    kFirstRegisters * (kThreads + kCopyThreads) - kCopyRegisters * kCopyThreads;
constexpr int kRegisters = minimum(kFreeRegisters / kThreads / 8 * 8, 240);
static_assert(SPLIT_K != 0 || (SLICE_K == 1 && CLUSTER == 1), "buffers and barriers are in use");
static_assert(kThreads % 128 == 0 && kFirstRegisters < kRegisters && kFirstRegisters <= 240);

template <typename T, int kRows, bool kKMajor>
using Operand = TmaOperand<T, kRows, kKMajor, kThreads, kCopyThreads>;
using OperandA = Operand<ElementA, kTileM, !TRANSPOSE_A>;
using OperandB = Operand<ElementB, kTileN, TRANSPOSE_B>;
constexpr bool kAnyByThreads = OperandA::kByThreads || OperandB::kByThreads;
constexpr bool kAnyByTma = !OperandA::kByThreads || !OperandB::kByThreads;
constexpr int kProducers = kAnyByThreads ? kCopyThreads : 1;  // threads
constexpr int kStage = OperandA::kSize + OperandB::kSize;
// Elements that the slices exchange at first: half of all results.
constexpr int kExchanged = SLICE_K > 1 ? kThreads* kThreadResults / 2 : 0;
constexpr int kBuffers = maximum(STAGES * kStage, kExchanged);
constexpr int kBarriers = 2 * STAGES * sizeof(Barrier) / sizeof(Accumulator);
// Where warps stage results: with SPLIT_K == 0 operands may be arriving in the buffers.
constexpr int kStaging = SPLIT_K == 0 ? 4 * kThreads : 0;
constexpr int kSharedElements = kBuffers + kBarriers + kStaging + Cluster::kSharedElements;
static_assert(kSharedElements * sizeof(Accumulator) <= 227 * 1024,
              "an SM has no more shared memory");
using SideM = Side<RESULTS_M, LANES_M, false>;
using SideN = Side<RESULTS_N, kLanesN, false>;
using FragmentA = LaneFragment<OperandA, SideM, RESULTS_M>;
using FragmentB = LaneFragment<OperandB, SideN, RESULTS_N>;
using Position = LanePosition<SideM, SideN>;

// The buffer that a producer fills next or a consumer reads next. Producers and consumers go
// through the buffers in the same order.
struct PipelineState {
  int stage;
  int offset = stage * kStage;  // of the buffer's elements in shared memory
  unsigned parity = 0;          // of the number of times that all buffers were used before

  __device__ __forceinline__ void next() {
    offset += kStage;
    if (++stage == STAGES) {
      stage = 0;
      offset = 0;
      parity ^= 1;
    }
  }
};

// The buffers and their barriers.
struct Pipeline {
  static constexpr int kConsumerWarps = kThreads / 32;

  Accumulator* shared;
  Barrier* full;   // of each buffer: its k_tile has arrived
  Barrier* empty;  // of each buffer: all consumer warps have read its k_tile

  __device__ __forceinline__ explicit Pipeline(Accumulator* all)
      : shared(all), full(reinterpret_cast<Barrier*>(all + kBuffers)), empty(full + STAGES) {}

  // Initializes the barriers. One thread calls this before others use them.
  __device__ __forceinline__ void init() const {
    for (int stage = 0; stage < STAGES; ++stage) {
      init_barrier(full + stage, kAnyByTma + (kAnyByThreads ? kCopyThreads : 0));
      init_barrier(empty + stage, kConsumerWarps);
    }
    fence_barrier_init();
  }
  __device__ __forceinline__ void wait_full(const PipelineState& state) const {
    wait_parity(full + state.stage, state.parity);
  }
  __device__ __forceinline__ void wait_empty(const PipelineState& state) const {
    wait_parity(empty + state.stage, state.parity ^ 1);
  }
  // Releases a buffer that this warp has read. All lanes of a consumer warp call this. Without the
  // fence, TMA could write the next k_tile while the warp's last reads of this one are still
  // waiting: on an H200 up to 3 of 100 launches were wrong where shared memory is busiest.
  __device__ __forceinline__ void release(const PipelineState& state) const {
    if (kAnyByTma) fence_proxy_async();
    __syncwarp();
    if (threadIdx.x % 32 == 0) arrive(empty + state.stage);
  }
};

__device__ __forceinline__ int k_tiles_of(int k_count) {
  return (k_count - 1) / BLOCK_K + 1;
}

// Copies all k_tiles of a work tile, from the buffer of `state` on. The kProducers threads behind
// the consumers call this.
__device__ __forceinline__ void producer_load(const Pipeline& pipeline, PipelineState& state,
                                              OperandA a, OperandB b, int k_count) {
  const int k_tiles = k_tiles_of(k_count);
#pragma unroll 1
  for (int k_tile = 0; k_tile < k_tiles; ++k_tile, state.next()) {
    ElementA* const to_a = pipeline.shared + state.offset;
    ElementB* const to_b = to_a + OperandA::kSize;
    Barrier* const full = pipeline.full + state.stage;
    pipeline.wait_empty(state);
    if (kAnyByTma && threadIdx.x == kThreads) {
      arrive_expect_tx(full, OperandA::kBoxBytes + OperandB::kBoxBytes);
      a.tma_load(to_a, k_tile, full);
      b.tma_load(to_b, k_tile, full);
    }
    if (!kAnyByThreads) continue;
    a.copy(to_a, k_count - k_tile * BLOCK_K);
    b.copy(to_b, k_count - k_tile * BLOCK_K);
    cp_async_arrive(full);
  }
}

// Adds the products of all k_tiles of a work tile, which are in the buffer of `state` and those
// behind it, to this thread's sums. All consumer threads call this.
__device__ __forceinline__ void accumulate(const Pipeline& pipeline, PipelineState& state,
                                           const Position& position, int k_count, Sums& sums) {
  constexpr int kSteps = kSliceK / kStepK;  // of the inner loop, in a k_tile
  const int first_k = position.slice * kSliceK;
  int first_a = OperandA::shared_offset(position.row, first_k);  // this thread's, in a buffer
  int first_b = OperandA::kSize + OperandB::shared_offset(position.column, first_k);
  // This keeps both in registers; the compiler would compute them again and again.
  asm volatile("" : "+r"(first_a), "+r"(first_b));

  int k_tiles_left = k_tiles_of(k_count);
  // Steps of the last k_tile are left out if all of their elements lie beyond K. Code for aligned
  // operands, whose K most often ends with a k_tile, is 0.4 % slower with this, and where blocks
  // share K the compiler chooses worse registers: 17 instead of 6 % bank conflicts.
  constexpr bool kLeavesOut = !ALIGNED && SLICE_K == 1 && SPLIT_K == 1;
  const unsigned beyond = static_cast<unsigned>(k_tiles_left) * BLOCK_K - k_count;  // elements
  const int left_out = kLeavesOut ? static_cast<int>(beyond / kStepK) : 0;
  int step = k_tiles_left > 1 ? 0 : left_out;
  const ElementA* own_a = pipeline.shared + state.offset + first_a;  // for the step's first k
  const ElementB* own_b = pipeline.shared + state.offset + first_b;
  const auto next_step = [&] {
    if (++step < kSteps) {
      own_a += OperandA::shared_offset(0, kStepK);
      own_b += OperandB::shared_offset(0, kStepK);
      return;
    }
    pipeline.release(state);
    if (--k_tiles_left > 0) {
      state.next();
      pipeline.wait_full(state);
    }
    step = k_tiles_left > 1 ? 0 : left_out;
    // After the last k_tile its first k is loaded once more, and not used.
    own_a = pipeline.shared + state.offset + first_a;
    own_b = pipeline.shared + state.offset + first_b;
  };

  pipeline.wait_full(state);
  FragmentA fragments_a[2];
  FragmentB fragments_b[2];
  fragments_a[0].load(own_a, 0);
  fragments_b[0].load(own_b, 0);
#pragma unroll 1
  while (k_tiles_left > 0) {
#pragma unroll
    for (int k = 0; k < kStepK; ++k) {
      const int loaded = k + 1;
      if (loaded == kStepK) next_step();
      fragments_a[loaded % 2].load(own_a, loaded % kStepK);
      fragments_b[loaded % 2].load(own_b, loaded % kStepK);
      multiply(fragments_a[k % 2], fragments_b[k % 2], k, sums);
    }
  }
  state.next();
}

// The product and the place in C of a work tile, and its part of K.
struct Task {
  unsigned product;
  TileSpan in_m, in_n;
  long long first_k;
  int k_count;

  __device__ __forceinline__ Task(const WorkTile& work, const ProductBatch& products,
                                  const TileGrid& tiles, long long m, long long n, long long k)
      : Task(work, products.product(work.tile), tiles.row_of(products.in_product(work.tile)),
             tiles.column_of(products.in_product(work.tile)), m, n, k) {}

 private:
  __device__ __forceinline__ Task(const WorkTile& work, unsigned of_product, unsigned row,
                                  unsigned column, long long m, long long n, long long k)
      : product(of_product),
        in_m(row, kTileM, m),
        in_n(column, kTileN, n),
        first_k(work.first_k(BLOCK_K)) {
    const long long k_end = SPLIT_K == 1 ? k : work.k_end(BLOCK_K, k);
    // The second block of a cluster may have no elements of K.
    k_count = CLUSTER > 1 && k_end < first_k ? 0 : static_cast<int>(k_end - first_k);
  }
};

extern "C" __global__ void CLUSTER_ATTRIBUTE __launch_bounds__(kThreads + kCopyThreads, MIN_BLOCKS)
    gemm_tma(const ElementA* __restrict__ a, const ElementB* __restrict__ b,
             ElementC* __restrict__ c, long long m, long long n, long long k, long long lda,
             long long ldb, long long ldc, Scalar alpha, Scalar beta, float* __restrict__ workspace,
             unsigned raster, const __grid_constant__ TensorMap map_a,
             const __grid_constant__ TensorMap map_b BATCH_PARAMETERS) {
  extern __shared__ __align__(128) Accumulator shared[];
  const Pipeline pipeline(shared);
  const Cluster cluster(shared + kBuffers + kBarriers + kStaging);
  if (threadIdx.x == 0) pipeline.init();
  cluster.init();
  __syncthreads();

  const TileGrid tiles{static_cast<unsigned>((m - 1) / kTileM + 1),
                       static_cast<unsigned>((n - 1) / kTileN + 1), raster};
  const ProductBatch products{BATCH_ARGUMENTS, tiles.along_m * tiles.along_n};
  if (scales_alone(alpha, beta, c, m, n, k, ldc, products)) return;
  const long long all_tiles =
      products.tiles_of_row(static_cast<long long>(tiles.along_m) * tiles.along_n);
  const BlockShares partition(all_tiles, k);
  WorkTiles work_tiles(partition);
  WorkTile work = work_tiles.first();

  cluster.wait_init();
  griddep_wait(static_cast<int>(work.end));
  if (threadIdx.x >= kThreads) {
    warpgroup_reg_dealloc<kCopyRegisters>();
    if (threadIdx.x < kThreads + kProducers) {
      PipelineState filling{0};
      do {
        const Task task(work, products, tiles, m, n, k);
        if (!products.has(task.product)) continue;
        producer_load(pipeline, filling,
                      OperandA(map_a, products.in_map_a(task.product), products.a(a, task.product),
                               lda, m, task.in_m.first, task.first_k),
                      OperandB(map_b, products.in_map_b(task.product), products.b(b, task.product),
                               ldb, n, task.in_n.first, task.first_k),
                      task.k_count);
      } while (work_tiles.next(work));
      cp_async_wait_all();
    }
    return;
  }
  warpgroup_reg_alloc<kRegisters>();
  const Position position;
  PipelineState reading{0};
  do {
    const Task task(work, products, tiles, m, n, k);
    if (!products.has(task.product)) continue;
    Sums sums = {};
    accumulate(pipeline, reading, position, task.k_count, sums);
    Accumulator* const results = &sums[0][0];
    add_slices<SLICE_K, kThreadResults>(results, shared);
    cluster.add(results);
    if (SPLIT_K != 1 && (CLUSTER > 1 || task.k_count < k)) {
      const Parts<kRegisters> parts(workspace, partition, work.tile, all_tiles);
      if ((CLUSTER == 1 || parts.count > 1) && !add_blocks(parts, results)) continue;
    }
    const Epilogue<SideM, SideN> epilogue{
        products.c(c, task.product), m, n, ldc, value_of(alpha), value_of(beta)};
    epilogue.store(results, position.slice * kSliceResults + Cluster::rank() * kBlockResults,
                   task.in_m, task.in_n,
                   ALIGNED        ? nullptr
                   : SPLIT_K == 0 ? shared + kBuffers + kBarriers
                                  : shared);
  } while (work_tiles.next(work));
}
