// gemm_wgmma: C = alpha * op(A) * op(B) + beta * C for BF16 and FP16 operands, with sums in FP32, on
// the tensor cores of compute capability 9.0. Elements of C have the operands' type or FP32.
//
// One producer thread has TMA copy tiles of both operands, in any of the four layouts, to a ring of
// buffers; TMA writes zeros for what is not in the matrices. Groups of four consumer warps multiply
// them. With PINGPONG the groups take tiles of C in turn: while one stores its results, the other
// multiplies. Otherwise they have BLOCK_M / groups rows of every tile each. Buffers are handed over
// as in gemm_tma. CLUSTER blocks side by side along M share the copies of B, of which each copies a
// part to all of them.
//
// Blocks are persistent, as those of gemm_planes. With SPLIT_K == 0 as many as run at once take
// tiles in turn and share the last ones evenly where that pays; otherwise there is a cluster for
// each tile, or with CLUSTER_K above 1 one whose blocks have a part of K each and add their sums
// through shared memory. Parts are added in the order of K.
//
// Matrices are row-major with leading dimensions in elements; 1 <= m, n, k < 2^31. A and B begin at
// multiples of 16 bytes, as do their rows; C may begin anywhere. Launch: kThreads threads,
// kStages * kStage + kStaging bytes of dynamic shared memory, any number of clusters up to the k_tiles of all tiles, or one for
// each tile with CLUSTER_K above 1. workspace: behind the counters two parts of a tile for each
// block. The boxes of the maps, with a swizzle of 128 bytes, are TmaTile's. Batches: see
// device/batch.cuh; blockIdx.y is 0. All code is for sm_90a alone.

// Rows of the tile: 64, 128 or 256.
#ifndef BLOCK_M
#define BLOCK_M 128
#endif

// Columns of the tile: 64, 128, 192 or 256. A thread has at most 128 sums.
#ifndef BLOCK_N
#define BLOCK_N 256
#endif

// 1: two groups of consumer warps take tiles in turn. 0: they share each tile; one of 64 rows has
// one group.
#ifndef PINGPONG
#define PINGPONG 0
#endif

// Blocks side by side along M that share the copies of B: 1, 2 or 4.
#ifndef CLUSTER
#define CLUSTER 1
#endif

// Blocks of a cluster that split K of one tile: 1, 2, 4 or 8; above 1 CLUSTER is 1, PINGPONG is 0
// and BLOCK_M is at most 128.
#ifndef CLUSTER_K
#define CLUSTER_K 1
#endif

// How device/wgmma.cuh has the operands, and the elements of K that a call multiplies.
#define WGMMA_TYPE WGMMA_NAME_OF(ELEMENT_A)
#define WGMMA_MN_MAJOR_A TRANSPOSE_A
#define WGMMA_MN_MAJOR_B !TRANSPOSE_B
#define PROMOTE_K 64

#include "device/batch.cuh"
#include "device/cluster_k.cuh"
#include "device/element.cuh"
#include "device/grid_dependency.cuh"
#include "device/scale_alone.cuh"
#include "device/staged_output.cuh"
#include "device/tma_tile.cuh"

#ifdef __CUDACC__

using namespace autotune_device;

constexpr int kGroups = PINGPONG || BLOCK_M > 64 ? 2 : 1;  // of four consumer warps
constexpr int kGroupRows = PINGPONG ? BLOCK_M : BLOCK_M / kGroups;
constexpr int kPieces = kGroupRows / 64;  // that one matrix instruction computes
constexpr int kPieceSums = BLOCK_N / 2;   // of a thread
constexpr int kSums = kPieces * kPieceSums;
constexpr int kConsumers = 128 * kGroups;  // threads
// Threads of two groups that need more registers than a block's share take those of the producers,
// which are a whole group of four warps then.
constexpr bool kReallocates = kGroups == 2 && kSums > 64;
constexpr int kCopyThreads = kReallocates ? 128 : 32;
constexpr int kThreads = kConsumers + kCopyThreads;
constexpr int kCopyRegisters = 40;
constexpr int kRegisters = 232;
static_assert(kSums <= 128, "a thread has no more registers");

using TileA = TmaTile<TRANSPOSE_A != 0, BLOCK_M, 1>;
using TileB = TmaTile<TRANSPOSE_B == 0, BLOCK_N, CLUSTER>;
constexpr int kStage = TileA::kBytes + TileB::kBytes;
constexpr int kStaging = kStagingBytes * kConsumers / 32;
constexpr int kFitting = (226 * 1024 - kStaging) / kStage;
constexpr int kStages = kFitting < 8 ? kFitting : 8;

// The buffers, each with a k_tile of A and behind it of B, and their barriers.
struct Pipeline {
  unsigned char* first;
  Barrier* full;   // of each buffer: the copies have arrived
  Barrier* empty;  // of each buffer: all consumer warps of the cluster have read it
  Barrier* turn;   // of each group with PINGPONG: the other one has started its last products

  // Initializes the barriers. One thread calls this before others use them.
  __device__ __forceinline__ void init() const {
    for (int i = 0; i < kStages; ++i) {
      init_barrier(full + i, 1);
      init_barrier(empty + i, CLUSTER * (PINGPONG ? 4 : kConsumers / 32));
    }
    for (int i = 0; PINGPONG && i < 2; ++i) init_barrier(turn + i, 4);
    fence_barrier_init();
  }
  __device__ __forceinline__ unsigned char* a(unsigned stage) const {
    return first + stage * kStage;
  }
  __device__ __forceinline__ unsigned char* b(unsigned stage) const {
    return a(stage) + TileA::kBytes;
  }
  // Releases a buffer that this warp has read. All lanes call this.
  __device__ __forceinline__ void release(unsigned stage) const {
    const unsigned lane = threadIdx.x % 32;
    if (lane >= CLUSTER) return;
#if CLUSTER > 1
    asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(
                     cluster_address(shared_address(empty + stage), lane))
                 : "memory");
#else
    arrive(empty + stage);
#endif
  }
};

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

// The tile of C that a work tile belongs to: its product, first row and first column.
struct Place {
  unsigned product;
  long long row, column;

  __device__ __forceinline__ Place(const TileGrid& grid, const ProductBatch& products,
                                   unsigned tile)
      : product(products.product(tile)) {
    const unsigned in_product = products.in_product(tile);
    row = (static_cast<long long>(grid.row_of(in_product)) * CLUSTER + cluster_rank()) * BLOCK_M;
    column = static_cast<long long>(grid.column_of(in_product)) * BLOCK_N;
  }
};

// Copies the k_tiles of all work tiles. One thread calls this.
__device__ __forceinline__ void copy_tiles(const Pipeline& pipeline, const TensorMap& map_a,
                                           const TensorMap& map_b, WorkTiles& work_tiles,
                                           const TileGrid& grid, const ProductBatch& products) {
  PipelineState state;
  WorkTile work;
  while (work_tiles.next(work)) {
    const Place place(grid, products, work.tile);
    const int row = static_cast<int>(place.row), column = static_cast<int>(place.column);
    const int matrix_a = products.in_map_a(place.product);
    const int matrix_b = products.in_map_b(place.product);
#pragma unroll 1
    for (unsigned k_tile = work.begin; k_tile < work.end; ++k_tile) {
      Barrier* const full = pipeline.full + state.stage;
      wait_parity(pipeline.empty + state.stage, state.parity ^ 1);
      arrive_expect_tx(full, kStage);
      const int k = static_cast<int>(k_tile * kTileK);
      TileA::load(pipeline.a(state.stage), map_a, row, k, matrix_a, 0, full);
      TileB::load(pipeline.b(state.stage), map_b, column, k, matrix_b,
                  static_cast<int>(cluster_rank()), full);
      state.next();
    }
  }
  // The other blocks of a cluster may still be reading, and arrive at this block's barriers.
#pragma unroll 1
  for (int i = 0; CLUSTER > 1 && i < kStages; ++i) {
    wait_parity(pipeline.empty + state.stage, state.parity ^ 1);
    state.next();
  }
}

// Starts the products of a k_tile with this group's rows. add: 0 sets the sums.
__device__ __forceinline__ void multiply(const Pipeline& pipeline, unsigned stage, int add,
                                         float (&sums)[kPieces][kPieceSums]) {
  const int first_row = PINGPONG ? 0 : static_cast<int>(threadIdx.x / 128) * kGroupRows;
  const unsigned a = shared_address(pipeline.a(stage));
  const unsigned long long b = TileB::descriptor(shared_address(pipeline.b(stage)), 0);
#pragma unroll
  for (int i = 0; i < kPieces; ++i) {
    wgmma(sums[i], TileA::descriptor(a, first_row + 64 * i), b, add);
  }
}

__device__ __forceinline__ void pin_pieces(float (&sums)[kPieces][kPieceSums]) {
#pragma unroll
  for (int i = 0; i < kPieces; ++i) pin(sums[i]);
}

// Sets sums to those of a work tile's k_tiles. While the tensor cores compute a k_tile, the copies
// of the next ones arrive. has_started() is called behind the start of the last products. All
// threads of a group call this.
template <typename HasStarted>
__device__ __forceinline__ void accumulate(const Pipeline& pipeline, PipelineState& state,
                                           unsigned k_tiles, const HasStarted& has_started,
                                           float (&sums)[kPieces][kPieceSums]) {
  constexpr bool kMayBeEmpty = CLUSTER_K > 1;
  if constexpr (kMayBeEmpty) {
#pragma unroll
    for (int i = 0; i < kSums; ++i) sums[i / kPieceSums][i % kPieceSums] = 0;
  }
  pin_pieces(sums);
  unsigned last = 0;  // stage of the k_tile before
#pragma unroll 1
  for (unsigned k_tile = 0; k_tile < k_tiles; ++k_tile) {
    const unsigned stage = state.stage;
    wait_parity(pipeline.full + stage, state.parity);
    state.next();
    wgmma_fence();
    multiply(pipeline, stage, kMayBeEmpty || k_tile > 0, sums);
    wgmma_commit();
    wgmma_wait<1>();  // for the k_tile before
    if (k_tile > 0) pipeline.release(last);
    last = stage;
  }
  has_started();
  wgmma_wait<0>();
  pin_pieces(sums);
  if (!kMayBeEmpty || k_tiles > 0) pipeline.release(last);
}

using TileSums = ClusterSums<kConsumers, BLOCK_N>;
static_assert(CLUSTER_K == 1 ||
              (CLUSTER == 1 && !PINGPONG && kPieces == 1 && TileSums::kBytes <= kStages * kStage));

extern "C" __global__ void
#if CLUSTER * CLUSTER_K > 1
__cluster_dims__(CLUSTER* CLUSTER_K, 1, 1)
#endif
    __launch_bounds__(kThreads, 1)
        gemm_wgmma(const ElementA* __restrict__, const ElementB* __restrict__,
                   ElementC* __restrict__ c, long long m, long long n, long long k, long long,
                   long long, long long ldc, Scalar alpha, Scalar beta,
                   float* __restrict__ workspace, unsigned raster,
                   const __grid_constant__ TensorMap map_a,
                   const __grid_constant__ TensorMap map_b BATCH_PARAMETERS) {
  extern __shared__ __align__(1024) unsigned char shared[];
  __shared__ Barrier barriers[2 * kStages + 2];
  [[maybe_unused]] __shared__ int flags[kGroups];
  const Pipeline pipeline{shared, barriers, barriers + kStages, barriers + 2 * kStages};
  if (threadIdx.x == kConsumers) {
    prefetch_map(map_a);
    prefetch_map(map_b);
    pipeline.init();
  }
  const TileGrid grid{static_cast<unsigned>((m - 1) / (CLUSTER * BLOCK_M) + 1),
                      static_cast<unsigned>((n - 1) / BLOCK_N + 1), raster};
  const ProductBatch products{BATCH_ARGUMENTS, grid.along_m * grid.along_n};
  if (scales_alone(alpha, beta, c, m, n, k, ldc, products)) return;
  const WorkPartition partition(products.tiles_of_row(products.tiles),
                                static_cast<unsigned>((k - 1) / kTileK + 1));
  WorkTiles work_tiles(partition);
  cluster_sync();
  griddep_wait(static_cast<int>(partition.clusters));
  if (threadIdx.x >= kConsumers) {
    if (kReallocates) warpgroup_reg_dealloc<kCopyRegisters>();
    if (threadIdx.x == kConsumers) {
      copy_tiles(pipeline, map_a, map_b, work_tiles, grid, products);
    }
    __syncwarp();
    if (CLUSTER_K > 1) cluster_sync();  // the consumers' (ClusterSums)
  } else {
    if (kReallocates) warpgroup_reg_alloc<kRegisters>();
    const unsigned group = threadIdx.x / 128, warp = threadIdx.x / 32;
    constexpr int kStored = CLUSTER_K > 1 ? TileSums::kStoredN : BLOCK_N;
    StagedOutput<kStored> output{
        {c, ldc, value_of(alpha), value_of(beta)},
        m,
        n,
        static_cast<int>((PINGPONG ? 0 : group * kGroupRows) + warp % 4 * 16),
        shared + kStages * kStage + warp * kStagingBytes};
    PipelineState state;
    unsigned k_tiles_before = 0, turn = 0;  // of the block's work tiles
    WorkTile work;
    while (work_tiles.next(work)) {
      const unsigned k_tiles = work.end - work.begin;
      if constexpr (PINGPONG) {
        const unsigned first = k_tiles_before, own_turn = turn / 2 & 1;
        k_tiles_before += k_tiles;
        if (turn++ % 2 != group) continue;
        state = {first % kStages, first / kStages & 1};
        wait_parity(pipeline.turn + group, group == 0 ? own_turn ^ 1 : own_turn);
      }
      const auto give_turn = [&] {
        if (PINGPONG && threadIdx.x % 32 == 0) arrive(pipeline.turn + (group ^ 1));
      };
      float sums[kPieces][kPieceSums];
      accumulate(pipeline, state, k_tiles, give_turn, sums);
      const Place place(grid, products, work.tile);
#if CLUSTER_K > 1
      const TileSums tile_sums{shared_address(shared)};
      tile_sums.put(shared, sums[0]);
      cluster_sync();
      output.output.c = products.c(c, place.product);
      tile_sums.store(output, static_cast<int>(place.row), static_cast<int>(place.column));
#else
      if (k_tiles < partition.k_tiles &&
          !add_parts<kGroups, 128, PINGPONG != 0>(
              reinterpret_cast<int*>(workspace), workspace + kWorkspaceCounters, partition,
              work.tile, flags, reinterpret_cast<float(&)[kSums]>(sums))) {
        continue;
      }
      output.output.c = products.c(c, place.product);
#pragma unroll
      for (int i = 0; i < kPieces; ++i) {
        output.store(sums[i], {}, place.row + 64 * i, place.column);
      }
#endif
    }
  }
  // The other blocks may still send data, or read this one's sums.
  if (CLUSTER * CLUSTER_K > 1) cluster_sync();
}

#endif
