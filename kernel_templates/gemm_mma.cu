// gemm_mma: C = alpha * op(A) * op(B) + beta * C of BF16 or FP16 operands with the matrix
// instructions that compute capability 8.0 introduced. Sums are FP32; C is of the operands' type
// or FP32.
//
// k_tiles are copied to a ring of STAGES buffers by cp.async, as they lie in memory, with chunks of
// 16 bytes in changed places (device/swizzled_tile.cuh). ldmatrix reads fragments of them, one step
// of 16 k ahead of their multiplication. Rows of the operands may begin anywhere
// (device/copied_tiles.cuh): those that begin in the middle of a 4-byte word are shifted in shared
// memory, a k_tile ahead.
//
// Blocks divide the k_tiles of all tiles evenly or take tiles in turn (device/even_shares.cuh).
// Zeros beyond K are +0, so a sum that underflowed to -0 becomes +0.
//
// Matrices are row-major with leading dimensions in elements; 1 <= m, n, k < 2^31. Launch: kThreads
// threads, kSharedElements elements of dynamic shared memory; any number of blocks up to the
// k_tiles of all tiles. workspace: behind the counters the repacked operands, and two parts of a
// tile for each block.

// Rows and columns of a block's tile: 32, 64, 128 or 256.
#ifndef BLOCK_M
#define BLOCK_M 128
#endif
#ifndef BLOCK_N
#define BLOCK_N 128
#endif

// Elements of K in a k_tile: 32 or 64.
#ifndef BLOCK_K
#define BLOCK_K 32
#endif

// Warps of a block: 4 or 8. They divide the tile into parts that are as nearly square as possible,
// of at most 64 x 64 results.
#ifndef WARPS
#define WARPS 4
#endif

// Buffers in shared memory: 3 to 6.
#ifndef STAGES
#define STAGES 4
#endif

// Blocks of an SM that the compiler leaves registers for: 1 to 4.
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 1
#endif

// 1: operands whose lines begin anywhere are copied first, by gemm_mma_prepare, to lines that begin
// at multiples of 64 bytes. 0: lines are copied to shared memory as they are.
#ifndef REPACK
#define REPACK 0
#endif

// 1: all operands have addresses and rows of whole 16 bytes.
#ifndef ALIGNED
#define ALIGNED 0
#endif

#ifndef ELEMENT_A
#define ELEMENT_A __nv_bfloat16
#endif
#ifndef ELEMENT_B
#define ELEMENT_B __nv_bfloat16
#endif
#ifndef ELEMENT_C
#define ELEMENT_C __nv_bfloat16
#endif

#undef CLUSTER
#define CLUSTER 1

#include "device/batch.cuh"
#include "device/copied_tiles.cuh"
#include "device/element.cuh"
#include "device/even_shares.cuh"
#include "device/fragment_epilogue.cuh"
#include "device/grid_dependency.cuh"
#include "device/mma_16bit.cuh"
#include "device/repack.cuh"
#include "device/scale_alone.cuh"
#include "device/sync.cuh"

using namespace autotune_device;

constexpr int kThreads = 32 * WARPS;

// Returns the warps of a block along M: the longer side of their tiles is halved until there are
// WARPS of them.
__device__ constexpr int warps_along_m() {
  int along_m = 1, along_n = 1;
  while (along_m * along_n < WARPS) {
    if (BLOCK_M / along_m > BLOCK_N / along_n) {
      along_m *= 2;
    } else {
      along_n *= 2;
    }
  }
  return along_m;
}
constexpr int kWarpsM = warps_along_m();
constexpr int kWarpM = BLOCK_M / kWarpsM;            // rows of a warp's tile
constexpr int kWarpN = BLOCK_N / (WARPS / kWarpsM);  // its columns
constexpr int kFragmentsM = kWarpM / 16;
constexpr int kFragmentsN = kWarpN / 16;
static_assert(kWarpM >= 16 && kWarpN >= 16, "a warp has whole fragments");

using TileA = SwizzledTile<BLOCK_M, !TRANSPOSE_A>;
using TileB = SwizzledTile<BLOCK_N, TRANSPOSE_B>;
constexpr bool kRepacked = REPACK && !ALIGNED;
constexpr bool kAnywhere = !REPACK && !ALIGNED;  // lines of tiles begin anywhere
using CopiesA = CopiedTiles<ElementA, TileA, kThreads, kAnywhere>;
using CopiesB = CopiedTiles<ElementB, TileB, kThreads, kAnywhere>;
using Epilogue = FragmentEpilogue<kWarpM, kWarpN, kThreads>;
constexpr int kSums = Epilogue::kSums;
constexpr int kStage = CopiesA::kSize + CopiesB::kSize;
constexpr int kSharedElements = STAGES * kStage;
static_assert(WARPS * Epilogue::kStaging * sizeof(ElementC) <= kSharedElements * sizeof(ElementA));
// Copies that may be under way when a k_tile is multiplied. Lines that begin in the middle of a
// word are shifted a k_tile ahead.
constexpr int kPending = kAnywhere ? STAGES - 3 : STAGES - 2;
static_assert(kPending >= 0);

// Where a warp's tile lies in the block's, and the first chunks that the lane names for ldmatrix.
struct Place {
  int row, column;
  int a, b;

  __device__ __forceinline__ Place() {
    const int warp = static_cast<int>(threadIdx.x / 32);
    row = warp % kWarpsM * kWarpM;
    column = warp / kWarpsM * kWarpN;
    a = TileA::fragment_offset<true>(row);
    b = CopiesA::kSize + TileB::fragment_offset<false>(column);
  }
};

// The fragments of a warp's tile for 16 k.
struct Fragments {
  Fragment16 a[kFragmentsM], b[kFragmentsN];

  __device__ __forceinline__ void load(const ElementA* stage, const Place& place, int k) {
#pragma unroll
    for (int i = 0; i < kFragmentsM; ++i) {
      load_fragment<!TileA::kKMajor, kThreads>(a[i],
                                               stage + TileA::fragment_behind(place.a, 16 * i, k));
    }
#pragma unroll
    for (int j = 0; j < kFragmentsN; ++j) {
      load_fragment<!TileB::kKMajor, kThreads>(b[j],
                                               stage + TileB::fragment_behind(place.b, 16 * j, k));
    }
  }

  // Adds their products. Every other row of fragments is taken backwards, so that neighbours share
  // both operands.
  __device__ __forceinline__ void multiply(float (&sums)[kSums]) const {
#pragma unroll
    for (int i = 0; i < kFragmentsM; ++i) {
#pragma unroll
      for (int step = 0; step < kFragmentsN; ++step) {
        const int j = i % 2 == 0 ? step : kFragmentsN - 1 - step;
        multiply_fragments<ElementA, kThreads>(sums + 8 * (i * kFragmentsN + j), a[i], b[j]);
      }
    }
  }
};

// Sets the sums to those of the next k_count elements of K. All threads of the block call this.
// readable: a multiple of 16 bytes.
__device__ __forceinline__ void accumulate(CopiesA& a, CopiesB& b, int k_count,
                                           const ElementA* readable, const Place& place,
                                           ElementA* shared, float (&sums)[kSums]) {
  constexpr int kSteps = BLOCK_K / 16;
  const int k_tiles = (k_count - 1) / BLOCK_K + 1;
  const auto stage_behind = [shared](ElementA* stage) {
    return stage == shared + (STAGES - 1) * kStage ? shared : stage + kStage;
  };
  const auto shift_odd_lines = [&](ElementA* stage) {
    a.shift_odd_lines(stage);
    b.shift_odd_lines(stage + CopiesA::kSize);
  };
  int k_left = k_count;  // to be copied
  ElementA* filling = shared;
  const auto copy_next = [&] {
    if (k_left > 0) {
      a.copy(filling, readable, k_left);
      b.copy(filling + CopiesA::kSize, readable, k_left);
    }
    cp_async_commit();
    k_left -= BLOCK_K;
    filling = stage_behind(filling);
  };
  __syncthreads();  // all threads have read what the tile before left there
#pragma unroll 1
  for (int stage = 0; stage < STAGES - 1; ++stage) copy_next();
#pragma unroll
  for (int i = 0; i < kSums; ++i) sums[i] = 0;
  cp_async_wait<kPending>();
  __syncthreads();
  if (kAnywhere) {
    shift_odd_lines(shared);
    __syncthreads();
  }

  ElementA* reading = shared;
  Fragments fragments[2];
  fragments[0].load(reading, place, 0);
#pragma unroll 1
  for (int k_tiles_left = k_tiles; k_tiles_left > 0; --k_tiles_left) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      if (step == kSteps - 1) {
        cp_async_wait<kPending>();
        __syncthreads();  // the next k_tile is complete, and all threads have read this one
        reading = stage_behind(reading);
      }
      // Behind the last k_tile the first fragments are loaded of any, and not used.
      fragments[(step + 1) % 2].load(reading, place, (step + 1) % kSteps * 16);
      if (step == 0) copy_next();
      fragments[step % 2].multiply(sums);
      if (kAnywhere && step == 0 && k_tiles_left > 1) shift_odd_lines(stage_behind(reading));
    }
  }
}

// The operands as they are given, their copies, and the memory behind these.
struct Operands {
  RepackedOperand<ElementA> repacked_a;
  RepackedOperand<ElementB> repacked_b;

  __device__ __forceinline__ Operands(const ElementA* a, const ElementB* b, long long m,
                                      long long n, long long k, long long lda, long long ldb,
                                      float* workspace, const ProductBatch& products)
      : repacked_a({a, lda, products.stride_a, TRANSPOSE_A ? k : m, TRANSPOSE_A ? m : k},
                   workspace + kWorkspaceCounters, products.count),
        repacked_b({b, ldb, products.stride_b, TRANSPOSE_B ? n : k, TRANSPOSE_B ? k : n},
                   repacked_a.end(), products.count) {}

  __device__ __forceinline__ Operand16<ElementA> a() const {
    return kRepacked ? repacked_a.operand() : repacked_a.from;
  }
  __device__ __forceinline__ Operand16<ElementB> b() const {
    return kRepacked ? repacked_b.operand() : repacked_b.from;
  }
  __device__ __forceinline__ float* parts(float* workspace) const {
    return kRepacked ? static_cast<float*>(repacked_b.end()) : workspace + kWorkspaceCounters;
  }
};

#if REPACK && !ALIGNED
constexpr int kPrepareThreads = 256;

// Copies the operands whose lines begin anywhere. Blocks along x, of kPrepareThreads threads.
extern "C" __global__ void __launch_bounds__(kPrepareThreads)
    gemm_mma_prepare(const ElementA* __restrict__ a, const ElementB* __restrict__ b,
                     ElementC* __restrict__, long long m, long long n, long long k, long long lda,
                     long long ldb, long long, Scalar, Scalar, float* __restrict__ workspace,
                     unsigned BATCH_PARAMETERS) {
  const Operands operands(a, b, m, n, k, lda, ldb, workspace, {BATCH_ARGUMENTS, 0});
#ifdef __CUDACC__
  // The next kernel's blocks may start: they wait for the end of this launch.
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
  griddep_wait(1);
  operands.repacked_a.copy<kPrepareThreads>();
  operands.repacked_b.copy<kPrepareThreads>();
}
#endif

extern "C" __global__ void __launch_bounds__(kThreads, MIN_BLOCKS)
    gemm_mma(const ElementA* __restrict__ a, const ElementB* __restrict__ b,
             ElementC* __restrict__ c, long long m, long long n, long long k, long long lda,
             long long ldb, long long ldc, Scalar alpha, Scalar beta, float* __restrict__ workspace,
             unsigned raster BATCH_PARAMETERS) {
#ifdef __CUDACC__
  extern __shared__ __align__(128) ElementA shared[];
#else
  alignas(128) __shared__ ElementA shared[kSharedElements];
#endif
  __shared__ int flags[1];
  const TileGrid grid{static_cast<unsigned>((m - 1) / BLOCK_M + 1),
                      static_cast<unsigned>((n - 1) / BLOCK_N + 1), raster};
  const ProductBatch products{BATCH_ARGUMENTS, grid.along_m * grid.along_n};
  if (scales_alone(alpha, beta, c, m, n, k, ldc, products)) return;
  const WorkPartition partition(products.tiles_of_row(products.tiles),
                                static_cast<unsigned>((k - 1) / BLOCK_K + 1));
  TileScheduler scheduler(partition);
  const Place place;
  const auto* const readable =
      reinterpret_cast<const ElementA*>(reinterpret_cast<unsigned long long>(a) / 16 * 16);
  const Operands operands(a, b, m, n, k, lda, ldb, workspace, products);
  const Operand16<ElementA> of_a = operands.a();
  const Operand16<ElementB> of_b = operands.b();
  griddep_wait(static_cast<int>(partition.clusters));
  WorkTile work;
  while (scheduler.next(work)) {
    const unsigned product = products.product(work.tile);
    int row, column;
    grid.place(products.in_product(work.tile), BLOCK_M, BLOCK_N, row, column);
    const long long first_k = work.first_k(BLOCK_K);
    const auto k_count = static_cast<int>(work.k_end(BLOCK_K, k) - first_k);
    CopiesA copies_a(of_a.first + product * of_a.stride, of_a.ld, row, m, first_k);
    CopiesB copies_b(of_b.first + product * of_b.stride, of_b.ld, column, n, first_k);
    float sums[kSums];
    accumulate(copies_a, copies_b, k_count, readable, place, shared, sums);
    if (work.end - work.begin < partition.k_tiles &&
        !add_parts<1, kThreads>(reinterpret_cast<int*>(workspace), operands.parts(workspace),
                                partition, work.tile, flags, sums)) {
      continue;
    }
    const Epilogue epilogue{{products.c(c, product), ldc, value_of(alpha), value_of(beta)}, m, n};
    epilogue.store(sums, static_cast<long long>(row) + place.row,
                   static_cast<long long>(column) + place.column,
                   reinterpret_cast<ElementC*>(shared));
  }
}
