// gemm_fp16x3: C = alpha * op(A) * op(B) + beta * C with the accuracy of FP32, by three products of
// FP16 on the tensor cores of compute capability 9.0.
//
// A launch of its own, gemm_fp16x3_prepare, splits the operands into planes in the workspace
// (device/split_planes.cuh), but for those that were prepared before. A tile of C is then
//   sum of high * high + 2^-12 * (sum of high * low + sum of low * high);
// low * low is left out. The tensor cores truncate sums, so that the error of high * high would
// grow with K. Its sums are therefore promoted after each k_tile of 64: they are added to others in
// FP32. The corrections have sums of their own, which are 2^-12 as large and are added once. While
// the tensor cores compute the corrections, the other units promote the sums of high * high.
//
// One producer thread copies pieces of the planes to a ring of buffers; each group of four consumer
// warps computes 64 rows of the tile. Buffers are handed over as in gemm_tma. Blocks are
// persistent. Clusters of blocks divide the k_tiles of all tiles evenly where there are at least as
// many clusters as tiles; otherwise they take whole tiles in turn and share the last ones. The
// parts of a shared tile are added in the order of K by the cluster that arrives last.
//
// Zeros beyond K change no bit, since each row has zeros there in both planes. Results of rows and
// columns that have an infinity or NaN, or many elements too small for the planes, are computed
// with FFMA, from the operands themselves.
//
// Matrices are row-major with leading dimensions in elements; 1 <= m, n < 2^31, k < 2^21.
// Launch: kThreads threads and kStages * kStage bytes of dynamic shared memory; any number of
// clusters up to the k_tiles of all tiles. workspace: behind the counters the planes of A, those of
// B, a piece of memory that is read and not used (see kSlack), and two parts of a tile for each
// block. All code is for sm_90a alone.

// Columns of the tile: 64 or 128.
#ifndef BLOCK_N
#define BLOCK_N 128
#endif

// Groups of four consumer warps, with 64 rows of the tile each: 1 or 2.
#ifndef WARPGROUPS
#define WARPGROUPS 2
#endif

// Blocks side by side along M that share the copies of B: 1 or 2.
#ifndef CLUSTER
#define CLUSTER 1
#endif

// Blocks of an SM that the compiler leaves registers for, and that share its memory: 1 or 2.
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 1
#endif

#include "device/barrier.cuh"
#include "device/even_shares.cuh"
#include "device/grid_dependency.cuh"
#include "device/scaled_epilogue.cuh"
#include "device/split_planes.cuh"
#include "device/sync.cuh"
#include "device/tma.cuh"
#include "device/vector.cuh"
#include "device/wgmma.cuh"

using namespace autotune_device;

constexpr int kTileM = 64 * WARPGROUPS;
constexpr int kTileN = BLOCK_N;
constexpr int kConsumers = 128 * WARPGROUPS;  // threads
constexpr int kThreads = kConsumers + 128;
constexpr int kRowBytes = 2 * kPlaneK;
constexpr int kPieceA = kTileM * kRowBytes;
constexpr int kPieceB = kTileN * kRowBytes;
constexpr int kStage = kPieceA + kPieceB;  // one plane of both operands
constexpr int kStages = (227 / MIN_BLOCKS - 2) * 1024 / kStage;
constexpr int kSums = kTileN / 2;  // of a thread
constexpr int kSlack = 128 * kRowBytes;
constexpr int kFirstRegisters = 65536 / (MIN_BLOCKS * kThreads) / 8 * 8;
constexpr int kCopyRegisters = WARPGROUPS * MIN_BLOCKS == 1 ? 120 : 40;
constexpr int kFreeRegisters = (kFirstRegisters * kThreads - kCopyRegisters * 128) / kConsumers;
constexpr int kRegisters = kFreeRegisters < 240 ? kFreeRegisters / 8 * 8 : 240;

__device__ __forceinline__ void cluster_sync() {
  if (CLUSTER > 1) {
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  } else {
    __syncthreads();
  }
}

// Starts to copy contiguous bytes to shared memory, in all blocks of the cluster if kToAll.
template <bool kToAll>
__device__ __forceinline__ void bulk_load(unsigned to, const void* from, int bytes,
                                          Barrier* barrier) {
  if (kToAll) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
        " [%0], [%1], %2, [%3], %4;" ::"r"(to),
        "l"(from), "r"(bytes), "r"(shared_address(barrier)),
        "h"(static_cast<unsigned short>((1 << CLUSTER) - 1))
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"(to),
        "l"(from), "r"(bytes), "r"(shared_address(barrier))
        : "memory");
  }
}

// The buffer that is filled or read next.
struct PipelineState {
  unsigned stage = 0, parity = 0;

  __device__ __forceinline__ void next() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

// The buffers, each with one plane of a k_tile of A and behind it of B, and their barriers.
struct Pipeline {
  unsigned first;  // address in shared memory
  Barrier* full;   // of each buffer: the copies have arrived
  Barrier* empty;  // of each buffer: all consumer warps of the cluster have read it

  __device__ __forceinline__ unsigned a(unsigned stage) const { return first + stage * kStage; }
  __device__ __forceinline__ unsigned b(unsigned stage) const { return a(stage) + kPieceA; }

  // Initializes the barriers. One thread calls this before others use them.
  __device__ __forceinline__ void init() const {
    for (int i = 0; i < kStages; ++i) {
      init_barrier(full + i, 1);
      init_barrier(empty + i, CLUSTER * kConsumers / 32);
    }
    fence_barrier_init();
  }
  __device__ __forceinline__ void wait_full(const PipelineState& state) const {
    wait_parity(full + state.stage, state.parity);
  }
  __device__ __forceinline__ void wait_empty(const PipelineState& state) const {
    wait_parity(empty + state.stage, state.parity ^ 1);
  }
  // Releases a buffer that this warp has read. All lanes call this.
  __device__ __forceinline__ void release(unsigned stage) const {
    const unsigned lane = threadIdx.x % 32;
    if (lane >= CLUSTER) return;
#if CLUSTER > 1
    asm volatile(
        "{\n.reg .b32 at;\nmapa.shared::cluster.u32 at, %0, %1;\n"
        "mbarrier.arrive.shared::cluster.b64 _, [at];\n}" ::"r"(shared_address(empty + stage)),
        "r"(lane)
        : "memory");
#else
    arrive(empty + stage);
#endif
  }
};

// Copies the planes of all work tiles. One thread calls this.
__device__ __forceinline__ void producer_load(const Pipeline& pipeline, const Planes& a,
                                              const Planes& b, TileScheduler& scheduler,
                                              const TileGrid& grid) {
  constexpr int kPartB = kPieceB / CLUSTER;  // that a block copies for its cluster
  const unsigned part_b = cluster_rank() * kPartB;
  PipelineState state;
  WorkTile work;
  while (scheduler.next(work)) {
    int row, column;
    grid.place(work.tile, kTileM, kTileN, row, column);
    const unsigned short* from_a =
        a.high + work.begin * a.k_tile_elements() + static_cast<long long>(row) * kPlaneK;
    const unsigned short* from_b = b.high + work.begin * b.k_tile_elements() +
                                   static_cast<long long>(column) * kPlaneK + part_b / 2;
#pragma unroll 1
    for (unsigned left = work.end - work.begin; left > 0; --left) {
#pragma unroll
      for (int plane = 0; plane < 2; ++plane) {
        Barrier* const full = pipeline.full + state.stage;
        pipeline.wait_empty(state);
        arrive_expect_tx(full, kStage);
        bulk_load<false>(pipeline.a(state.stage), from_a + plane * a.plane_elements(), kPieceA,
                         full);
        bulk_load<(CLUSTER > 1)>(pipeline.b(state.stage) + part_b,
                                 from_b + plane * b.plane_elements(), kPartB, full);
        state.next();
      }
      from_a += a.k_tile_elements();
      from_b += b.k_tile_elements();
    }
  }
}

// Sets sums to those of a work tile's k_tiles. All consumer threads call this.
__device__ __forceinline__ void accumulate(const Pipeline& pipeline, PipelineState& state,
                                           unsigned k_tiles, float (&sums)[kSums]) {
  const unsigned own_a = threadIdx.x / 128 * 64 * kRowBytes;
  float high[kSums], corrections[kSums];
#pragma unroll
  for (int i = 0; i < kSums; ++i) sums[i] = corrections[i] = 0;
  unsigned last = 0;  // stage of the k_tile before
  const auto release_last = [&] {
    pipeline.release(last);
    pipeline.release(last + 1 == kStages ? 0 : last + 1);
  };
#pragma unroll 1
  for (unsigned k_tile = 0; k_tile < k_tiles; ++k_tile) {
    const unsigned first = state.stage;
    pipeline.wait_full(state);
    state.next();
    const unsigned long long high_a = matrix_descriptor(pipeline.a(first) + own_a);
    const unsigned long long high_b = matrix_descriptor(pipeline.b(first));
    pin(high);
    wgmma_fence();
    wgmma(high, high_a, high_b, 0);
    wgmma_commit();
    wgmma_wait<1>();  // for the corrections of the k_tile before
    if (k_tile > 0) release_last();
    last = first;
    const unsigned second = state.stage;
    pipeline.wait_full(state);
    state.next();
    wgmma(corrections, matrix_descriptor(pipeline.a(second) + own_a), high_b, 1);
    wgmma(corrections, high_a, matrix_descriptor(pipeline.b(second)), 1);
    wgmma_commit();
    wgmma_wait<1>();  // for high * high
    pin(high);
#pragma unroll
    for (int i = 0; i < kSums; ++i) sums[i] += high[i];
  }
  wgmma_wait<0>();
  pin(corrections);
  release_last();
#pragma unroll
  for (int i = 0; i < kSums; ++i) sums[i] = fmaf(corrections[i], kLowScale, sums[i]);
}

// Stores this group's sums as a part of a tile that several clusters share. In the cluster that
// arrives last the sums become those of all parts, and the function returns true. flag: shared
// memory of the group. All threads of the group call this.
__device__ __forceinline__ bool add_parts(int* counters, float* parts,
                                          const WorkPartition& partition, unsigned tile, int* flag,
                                          float (&sums)[kSums]) {
  const unsigned group = threadIdx.x / 128;
  const unsigned shared_tile = tile - partition.whole;
  const unsigned first = partition.cluster_of(shared_tile * partition.k_tiles);
  const unsigned last = partition.cluster_of((shared_tile + 1) * partition.k_tiles - 1);
  if (first == last) return true;
  // A cluster has two places: one for the tile that its share begins in, one for its last.
  const auto place = [&](unsigned cluster) {
    const bool second = partition.begin(cluster) / partition.k_tiles != shared_tile;
    const unsigned block = (2 * cluster + second) * CLUSTER + cluster_rank();
    return parts + static_cast<long long>(block) * kTileM * kTileN + group * 64 * kTileN +
           threadIdx.x % 128 * 4;
  };
  const auto sync = [&] { asm volatile("bar.sync %0, 128;" ::"r"(1 + group) : "memory"); };
  float* const to = place(blockIdx.x / CLUSTER);
#pragma unroll
  for (int i = 0; i < kSums; i += 4) {
    store_vector<4>(to + i * 128,
                    Vector<float, 4>{{sums[i], sums[i + 1], sums[i + 2], sums[i + 3]}});
  }
  sync();
  if (threadIdx.x % 128 == 0) {
    int* const counter = counters + (shared_tile * CLUSTER + cluster_rank()) * WARPGROUPS + group;
    *flag = atomic_increment(counter) == static_cast<int>(last - first);
    if (*flag) *counter = 0;
  }
  sync();
  if (!*flag) return false;
#pragma unroll
  for (int i = 0; i < kSums; ++i) sums[i] = 0;
#pragma unroll 1
  for (unsigned cluster = first; cluster <= last; ++cluster) {
    const float* const from = place(cluster);
#pragma unroll
    for (int i = 0; i < kSums; i += 4) {
      const auto part = load_from_l2<4>(from + i * 128);
#pragma unroll
      for (int e = 0; e < 4; ++e) sums[i + e] += part.at[e];
    }
  }
  return true;
}

// Takes the kernel's arguments. Blocks along x: those of the operands that `prepares` names (1: A,
// 2: B, 3: both), of 128, 256 or 512 threads.
// Dynamic shared memory: where an operand is transposed along K, kSplitThreads + 32 + 33 *
// StridedRows::held() floats.
extern "C" __global__ void __cluster_dims__(kSplitBlocks, 1, 1) __launch_bounds__(kSplitThreads, 3)
    gemm_fp16x3_prepare(const float* __restrict__ a, const float* __restrict__ b, float*,
                        long long m, long long n, long long k, long long lda, long long ldb,
                        long long, float, float, float* workspace, unsigned, void* prepared_a,
                        void* prepared_b, unsigned prepares) {
  extern __shared__ __align__(128) float shared_floats[];
  // The kernel's blocks may start: they wait for the end of this launch.
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  const OperandPlanes planes(workspace + kWorkspaceCounters, prepared_a, prepared_b, m, n, k);
  // Strips, which take longest, are split first, so that rows fill the gaps at the end.
  constexpr bool kBFirst = !TRANSPOSE_B;
  using RowsA = Rows<!TRANSPOSE_A>;
  using RowsB = Rows<TRANSPOSE_B>;
  const auto k_count = static_cast<int>(k);
  const bool has_first = prepares & (kBFirst ? 2 : 1);
  const unsigned all_of_first = kBFirst ? RowsB::blocks(n, k_count) : RowsA::blocks(m, k_count);
  const unsigned first = has_first ? all_of_first : 0;
  griddep_wait(static_cast<int>(all_of_first));
  const bool is_first = blockIdx.x < first;
  const unsigned block = is_first ? blockIdx.x : blockIdx.x - first;
  if (is_first == kBFirst) {
    RowsB::split(planes.b, b, ldb, k_count, block, shared_floats);
  } else {
    RowsA::split(planes.a, a, lda, k_count, block, shared_floats);
  }
}

#if CLUSTER > 1
extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(kThreads, MIN_BLOCKS)
#else
extern "C" __global__ void __launch_bounds__(kThreads, MIN_BLOCKS)
#endif
    gemm_fp16x3(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                long long m, long long n, long long k, long long lda, long long ldb, long long ldc,
                float alpha, float beta, float* __restrict__ workspace, unsigned raster,
                void* prepared_a, void* prepared_b, unsigned) {
  extern __shared__ __align__(1024) unsigned char shared[];
  __shared__ Barrier barriers[2 * kStages];
  __shared__ int flags[WARPGROUPS];
  const Pipeline pipeline{shared_address(shared), barriers, barriers + kStages};
  if (threadIdx.x == 0) pipeline.init();
  const OperandPlanes planes(workspace + kWorkspaceCounters, prepared_a, prepared_b, m, n, k);
  const TileGrid grid{static_cast<unsigned>((m - 1) / (CLUSTER * kTileM) + 1),
                      static_cast<unsigned>((n - 1) / kTileN + 1), raster};
  const WorkPartition partition(grid.along_m * grid.along_n, planes.a.k_tiles);
  TileScheduler scheduler(partition);
  cluster_sync();
  griddep_wait(static_cast<int>(partition.clusters));
  if (threadIdx.x >= kConsumers) {
    warpgroup_reg_dealloc<kCopyRegisters>();
    if (threadIdx.x == kConsumers) producer_load(pipeline, planes.a, planes.b, scheduler, grid);
  } else {
    warpgroup_reg_alloc<kRegisters>();
    const ScaledEpilogue<kTileM, kTileN> epilogue{
        a,   b,     c,    static_cast<int>(m), static_cast<int>(n), static_cast<int>(k), lda, ldb,
        ldc, alpha, beta, planes.a.words,      planes.b.words};
    float* const parts = reinterpret_cast<float*>(static_cast<char*>(planes.end) + kSlack);
    PipelineState state;
    WorkTile work;
    while (scheduler.next(work)) {
      float sums[kSums];
      accumulate(pipeline, state, work.end - work.begin, sums);
      if (work.end - work.begin < partition.k_tiles &&
          !add_parts(reinterpret_cast<int*>(workspace), parts, partition, work.tile,
                     flags + threadIdx.x / 128, sums)) {
        continue;
      }
      int row, column;
      grid.place(work.tile, kTileM, kTileN, row, column);
      epilogue.store(sums, row, column);
    }
  }
  if (CLUSTER > 1) cluster_sync();  // the other block may still send data and arrivals
}
