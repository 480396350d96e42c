// gemm_wgmma_skinny: C = alpha * op(A) * op(B) + beta * C for BF16 and FP16 operands of which one
// has few lines (rows of op(A) or columns of op(B)), with sums in FP32, on the tensor cores of
// compute capability 9.0. Elements of C have the operands' type or FP32.
//
// The time is that of reading the large operand, whose lines are the rows of the matrix
// instructions; the few lines, FEW of a tile, are their columns. A cluster of CLUSTER_K blocks has
// a tile of LINES lines: each block multiplies a part of K, and the blocks add their sums in the
// order of K through shared memory, where each adds and stores a part of the lines. One producer
// thread of a block has TMA copy tiles of both operands, in any of the four layouts, to a ring of
// buffers; TMA writes zeros for what is not in the matrices.
//
// Matrices are row-major with leading dimensions in elements; 1 <= m, n, k < 2^31. A and B begin at
// multiples of 16 bytes, as do their rows; C may begin anywhere. Launch: kThreads threads, kStages
// * kStage bytes of dynamic shared memory, a cluster for each tile. The boxes of the maps, with a
// swizzle of 128 bytes, are TmaTile's. Batches: see device/batch.cuh. All code is for sm_90a alone.

// The side of C with few lines. 0: rows, 1: columns.
#ifndef FEW_SIDE
#define FEW_SIDE 0
#endif

// The lines of that side in a tile: 8, 16, 32, 64 or 128. With fewer than there are, blocks read
// the large operand several times.
#ifndef FEW
#define FEW 16
#endif

// Lines of the other side in a tile: 64 or 128.
#ifndef LINES
#define LINES 64
#endif

// Blocks of a cluster that split K of one tile: 1, 2, 4 or 8.
#ifndef CLUSTER_K
#define CLUSTER_K 1
#endif

// Blocks of an SM that registers and shared memory are divided among: 1 or 2.
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 1
#endif

// 1: global memory has the lines of one k side by side.
#if FEW_SIDE == 0
#define MN_MAJOR_LARGE (TRANSPOSE_B == 0)
#define MN_MAJOR_FEW (TRANSPOSE_A != 0)
#else
#define MN_MAJOR_LARGE (TRANSPOSE_A != 0)
#define MN_MAJOR_FEW (TRANSPOSE_B == 0)
#endif

// How device/wgmma.cuh has the operands, and the elements of K that a call multiplies.
#define WGMMA_TYPE WGMMA_NAME_OF(ELEMENT_A)
#define WGMMA_MN_MAJOR_A MN_MAJOR_LARGE
#define WGMMA_MN_MAJOR_B MN_MAJOR_FEW
#define PROMOTE_K 64

#define CLUSTER 1

#include "device/batch.cuh"
#include "device/cluster_k.cuh"
#include "device/element.cuh"
#include "device/grid_dependency.cuh"
#include "device/scale_alone.cuh"
#include "device/skinny_sums.cuh"
#include "device/tma_tile.cuh"

#ifdef __CUDACC__

using namespace autotune_device;

constexpr int kConsumers = 2 * LINES;  // threads: four warps for 64 lines
constexpr int kThreads = kConsumers + 32;
constexpr int kSums = FEW / 2;  // of a thread

// A buffer has two tiles of the large operand, and behind them two of the few lines: 128 of K.
constexpr int kTiles = 2;
constexpr int kStageK = kTiles * kTileK;
using LargeTile = TmaTile<MN_MAJOR_LARGE, LINES, 1, true>;
using FewTile = TmaTile < MN_MAJOR_FEW, MN_MAJOR_FEW&& FEW<64 ? 64 : FEW, 1>;
constexpr int kStage = kTiles * (LargeTile::kBytes + FewTile::kBytes);
constexpr int kStages = (MIN_BLOCKS == 1 ? 226 : 112) * 1024 / kStage;

using TileSums = SkinnySums<FEW_SIDE == 0, FEW, LINES>;
static_assert(kStages >= 2 && TileSums::kBytes <= kStages * kStage, "no room for the sums");

// The buffers and their barriers.
struct Pipeline {
  unsigned char* first;
  Barrier* full;   // of each buffer: the copies have arrived
  Barrier* empty;  // of each buffer: all consumer warps have read it

  // Initializes the barriers. One thread calls this before others use them.
  __device__ __forceinline__ void init() const {
    for (int i = 0; i < kStages; ++i) {
      init_barrier(full + i, 1);
      init_barrier(empty + i, kConsumers / 32);
    }
    fence_barrier_init();
  }
  // Return the places of a buffer's tiles.
  __device__ __forceinline__ unsigned char* large(unsigned stage, int tile) const {
    return first + stage * kStage + tile * LargeTile::kBytes;
  }
  __device__ __forceinline__ unsigned char* few(unsigned stage, int tile) const {
    return large(stage, kTiles) + tile * FewTile::kBytes;
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

// What a block multiplies: a product's tile, which begins at a line of the large operand and at one
// of the few, and its k_tiles [begin, end) of kStageK.
struct Work {
  unsigned product;
  int line, few;
  unsigned begin, end;
};

// Copies the k_tiles. One thread calls this.
__device__ __forceinline__ void copy_tiles(const Pipeline& pipeline, const TensorMap& map_large,
                                           const TensorMap& map_few, int matrix_large,
                                           int matrix_few, const Work& work) {
  PipelineState state;
#pragma unroll 1
  for (unsigned k_tile = work.begin; k_tile < work.end; ++k_tile) {
    Barrier* const full = pipeline.full + state.stage;
    wait_parity(pipeline.empty + state.stage, state.parity ^ 1);
    arrive_expect_tx(full, kStage);
#pragma unroll
    for (int i = 0; i < kTiles; ++i) {
      const int k = static_cast<int>(k_tile * kStageK + i * kTileK);
      LargeTile::load(pipeline.large(state.stage, i), map_large, work.line, k, matrix_large, 0,
                      full);
    }
#pragma unroll
    for (int i = 0; i < kTiles; ++i) {
      const int k = static_cast<int>(k_tile * kStageK + i * kTileK);
      FewTile::load(pipeline.few(state.stage, i), map_few, work.few, k, matrix_few, 0, full);
    }
    state.next();
  }
}

// Sets sums to those of the k_tiles. While the tensor cores compute a k_tile, the copies of the
// next ones arrive. All consumer threads call this.
__device__ __forceinline__ void accumulate(const Pipeline& pipeline, const Work& work,
                                           float (&sums)[kSums]) {
#pragma unroll
  for (int i = 0; i < kSums; ++i) sums[i] = 0;
  pin(sums);
  const int first_line = static_cast<int>(threadIdx.x / 128) * 64;
  const bool releases = threadIdx.x % 32 == 0;
  PipelineState state;
  unsigned last = 0;  // stage of the k_tile before
#pragma unroll 1
  for (unsigned k_tile = work.begin; k_tile < work.end; ++k_tile) {
    const unsigned stage = state.stage;
    wait_parity(pipeline.full + stage, state.parity);
    state.next();
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < kTiles; ++i) {
      wgmma(sums, LargeTile::descriptor(shared_address(pipeline.large(stage, i)), first_line),
            FewTile::descriptor(shared_address(pipeline.few(stage, i)), 0), 1);
    }
    wgmma_commit();
    wgmma_wait<1>();  // for the k_tile before
    if (releases && k_tile > work.begin) arrive(pipeline.empty + last);
    last = stage;
  }
  wgmma_wait<0>();
  pin(sums);
}

extern "C" __global__ void
#if CLUSTER_K > 1
__cluster_dims__(CLUSTER_K, 1, 1)
#endif
    __launch_bounds__(kThreads, MIN_BLOCKS)
        gemm_wgmma_skinny(const ElementA* __restrict__, const ElementB* __restrict__,
                          ElementC* __restrict__ c, long long m, long long n, long long k,
                          long long, long long, long long ldc, Scalar alpha, Scalar beta,
                          float* __restrict__, unsigned, const __grid_constant__ TensorMap map_a,
                          const __grid_constant__ TensorMap map_b BATCH_PARAMETERS) {
  extern __shared__ __align__(1024) unsigned char shared[];
  __shared__ Barrier barriers[2 * kStages];
  const Pipeline pipeline{shared, barriers, barriers + kStages};
  if (threadIdx.x == kConsumers) {
    prefetch_map(map_a);
    prefetch_map(map_b);
    pipeline.init();
  }
  const unsigned few_tiles = static_cast<unsigned>(((FEW_SIDE == 0 ? m : n) - 1) / FEW + 1);
  const unsigned line_tiles = static_cast<unsigned>(((FEW_SIDE == 0 ? n : m) - 1) / LINES + 1);
  const ProductBatch products{BATCH_ARGUMENTS, few_tiles * line_tiles};
  if (scales_alone(alpha, beta, c, m, n, k, ldc, products)) return;
  const unsigned rank = blockIdx.x % CLUSTER_K, number = blockIdx.x / CLUSTER_K;
  const unsigned tile = products.in_product(number);  // those of the same lines follow each other
  const unsigned k_tiles = static_cast<unsigned>((k - 1) / kStageK + 1);
  const Work work{products.product(number), static_cast<int>(tile / few_tiles * LINES),
                  static_cast<int>(tile % few_tiles * FEW), k_tiles * rank / CLUSTER_K,
                  k_tiles * (rank + 1) / CLUSTER_K};
  if (!products.has(work.product)) return;  // all blocks of the cluster
  __syncthreads();
  griddep_wait(static_cast<int>(work.end + 1));
  if (threadIdx.x >= kConsumers) {
    if (threadIdx.x == kConsumers) {
      const int matrix_a = products.in_map_a(work.product);
      const int matrix_b = products.in_map_b(work.product);
#if FEW_SIDE == 0
      copy_tiles(pipeline, map_b, map_a, matrix_b, matrix_a, work);
#else
      copy_tiles(pipeline, map_a, map_b, matrix_a, matrix_b, work);
#endif
    }
    __syncwarp();
    if (CLUSTER_K > 1) cluster_sync();  // the consumers'
  } else {
    float sums[kSums];
    accumulate(pipeline, work, sums);
    const TileSums tile_sums{shared};
    tile_sums.put(sums);
    if (CLUSTER_K > 1) {
      release_shared_to_cluster();
      cluster_sync();
    } else {
      tile_sums.sync();
    }
    const Output output{products.c(c, work.product), ldc, value_of(alpha), value_of(beta)};
    tile_sums.store(output, m, n, work.line, work.few);
  }
  // The other blocks may still read this one's sums.
  if (CLUSTER_K > 1) {
    __syncwarp();
    cluster_sync();
  }
}

#endif
