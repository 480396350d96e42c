// gemm_skinny: C = alpha * op(A) * op(B) + beta * C where C has few rows or few columns, with sums in
// FP32, for operands of FP32 or of 16 bits. Such a product is bound by reading the larger operand
// once. Therefore each thread loads its part of that operand directly into registers, what is next
// before it has multiplied all that is there, and no element of it passes through shared memory. The
// few rows of the other operand are used again and again, from shared memory or from the L1 cache
// (device/skinny_words.cuh and device/skinny_halves.cuh).
//
// Both operands are seen as matrices whose rows run along K: row i is row i of op(A), or column i
// of op(B), and a result is the product of two rows. LANES_K lanes of a warp share K; the others
// lie side by side along the rows of the large operand, LINES rows for each lane. Where the large
// operand is K-major in memory, many lanes along K load neighbours; otherwise few lanes do.
//
// The warps of a block (SLICE_K) and several blocks (SPLIT_K) take parts of K, which are added in
// an order that is always the same: two runs give the same bits.
//
// Matrices are row-major with leading dimensions in elements; 1 <= m, n, k < 2^31, any alignment.
// Launch: kThreads threads and kSharedElements elements of dynamic shared memory; blocks along x:
// as many as C has tiles, times the parts of K. workspace: see kernel_template.hpp.

// The name of the kernel: gemm_skinny, and gemm_skinny16 for operands of 16 bits, whose
// configurations are others.
#ifndef KERNEL
#define KERNEL gemm_skinny
#endif

// The operand with few rows. 0: op(A). 1: op(B).
#ifndef FEW_SIDE
#define FEW_SIDE 0
#endif

// Rows of that operand that a block multiplies: 1, 2, 4, 8, 16 or 32.
#ifndef FEW
#define FEW 1
#endif

// Rows of the large operand for one lane: 1, 2, 4 or 8.
#ifndef LINES
#define LINES 4
#endif

// Lanes of a warp along K: 1, 4, 8 or 32. The other lanes are side by side.
#ifndef LANES_K
#define LANES_K 4
#endif

// Warps of a block, side by side (1, 2, 4 or 8) and along K (1, 2, 4, 8, 16 or 32).
#ifndef WARPS
#define WARPS 1
#endif
#ifndef SLICE_K
#define SLICE_K 8
#endif

// Words of 4 bytes along K, of each row, that a thread has under way at a time: 4, 8 or 16.
#ifndef UNROLL
#define UNROLL 8
#endif

// Blocks that share the work of one tile: 1, or with any larger value as many as the launch has for
// each tile.
#ifndef SPLIT_K
#define SPLIT_K 1
#endif

// The percentage of the large operand that the L2 cache is asked to keep for the next launch. An
// operand that is somewhat larger than the cache would otherwise evict itself in each launch.
#ifndef L2_PERSIST
#define L2_PERSIST 0
#endif

#include "device/batch.cuh"
#include "device/element.cuh"
#include "device/lane_sums.cuh"
#include "device/output.cuh"
#include "device/scale_alone.cuh"
#include "device/skinny_halves.cuh"
#include "device/skinny_tile.cuh"
#include "device/skinny_words.cuh"
#include "device/sync.cuh"
#include "device/vector.cuh"

using namespace autotune_device;

using OwnProducts = Products<ElementFew, ElementMany>;
using Block = ThreadGroup<kThreads, true>;

// Groups of threads that each add some of the blocks' parts of a tile.
constexpr int kGroups = kTile >= kThreads ? 1 : minimum(kThreads / kTile, 32);
constexpr int kSharedElements =
    maximum(OwnProducts::kSharedWords, maximum(SLICE_K, kGroups) * kTile);

// Adds the lanes' sums and stores them in the slice's tile in shared memory: kBlockRows results of
// the first of the few rows, then those of the next.
__device__ __forceinline__ void store_slice(Sums& sums, Accumulator* tile) {
  constexpr int kAll = FEW * LINES;
  constexpr int kKept = kAll > LANES_K ? kAll / LANES_K : 1;
  constexpr int kSame = kAll < LANES_K ? LANES_K / kAll : 1;  // lanes with the same value
  const int warp = threadIdx.x / 32 % WARPS;
  const int lane = threadIdx.x % 32;
  int first = 0;
  add_lanes<kAll, 16, kAcross, kThreads>(&sums[0][0], first);
  if (lane / kAcross % kSame != 0) return;
#pragma unroll
  for (int i = 0; i < kKept; ++i) {
    const int f = (first + i) / LINES;
    const int row = (first + i) % LINES;
    const int place = warp * LINES * kAcross + lane % kAcross * kNeighbours + row_offset(row);
    tile[f * kBlockRows + place] = (&sums[0][0])[i];
  }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    KERNEL(const ElementA* __restrict__ a, const ElementB* __restrict__ b, ElementC* __restrict__ c,
           long long m, long long n, long long k, long long lda, long long ldb, long long ldc,
           Scalar alpha, Scalar beta, float* __restrict__ workspace, unsigned BATCH_PARAMETERS) {
#ifdef __CUDACC__
  extern __shared__ __align__(16) Accumulator shared[];
#else
  alignas(16) __shared__ Accumulator shared[kSharedElements];
#endif
  const long long all_few = FEW_SIDE == 0 ? m : n;
  const long long all_rows = FEW_SIDE == 0 ? n : m;
  const unsigned tiles_few = static_cast<unsigned>(all_few - 1) / FEW + 1;
  const unsigned tiles_rows = static_cast<unsigned>(all_rows - 1) / kBlockRows + 1;
  const ProductBatch products{BATCH_ARGUMENTS, tiles_rows * tiles_few};
  if (scales_alone(alpha, beta, c, m, n, k, ldc, products)) return;
  const unsigned tiles = products.tiles_of_row(tiles_rows * tiles_few);
  const unsigned parts = SPLIT_K == 1 ? 1 : gridDim.x / tiles;
  // FP32's code, which was measured so, divides in any case.
  constexpr bool kDivides = SPLIT_K != 1 || sizeof(ElementMany) == 4;
  const unsigned part = kDivides ? blockIdx.x / tiles : 0;
  const unsigned tile = kDivides ? blockIdx.x % tiles : blockIdx.x;
  const unsigned product = products.product(tile);
  if (!products.has(product)) return;
  const unsigned in_product = products.in_product(tile);
  const bool is_one_few = sizeof(ElementMany) == 2 && tiles_few == 1;
  const unsigned tile_few = is_one_few ? 0 : in_product % tiles_few;
  const unsigned tile_row = is_one_few ? in_product : in_product / tiles_few;
  const long long first_few = static_cast<long long>(tile_few) * FEW;
  const long long first_row = static_cast<long long>(tile_row) * kBlockRows;

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
  const long long own_row = first_row + warp * LINES * kAcross + lane % kAcross * kNeighbours;
#if FEW_SIDE == 0
  const Rows<ElementFew> few(products.a(a, product), lda, all_few, k, first_few, kFewKMajor);
  const Rows<ElementMany> many(products.b(b, product), ldb, all_rows, k, own_row, kKMajor);
#else
  const Rows<ElementFew> few(products.b(b, product), ldb, all_few, k, first_few, kFewKMajor);
  const Rows<ElementMany> many(products.a(a, product), lda, all_rows, k, own_row, kKMajor);
#endif
  Sums sums = {};
  OwnProducts::accumulate(few, many, begin, end, shared, sums);
  store_slice(sums, shared + threadIdx.x / (32 * WARPS) * kTile);
  __syncthreads();

  // Returns the sum of the slices for result e of the tile, in their order.
  const auto sum_of_slices = [&](int e) {
    Accumulator sum = shared[e];
    for (int slice = 1; slice < SLICE_K; ++slice) sum += shared[slice * kTile + e];
    return sum;
  };
  // Returns the sum of every kGroups-th part of the tile from part `first` on, for result e.
  Accumulator* const own = reinterpret_cast<Accumulator*>(workspace + kWorkspaceCounters) +
                           (static_cast<long long>(tile) * parts + part) * kTile;
  const auto sum_of_parts = [&](int e, unsigned first) {
    const Accumulator* const from = own - static_cast<long long>(part) * kTile + e;
    Accumulator sum = 0;
#pragma unroll 4
    for (unsigned p = first; p < parts; p += kGroups) {
      sum += load_from_l2<1>(from + p * kTile).at[0];
    }
    return sum;
  };
  if (parts > 1) {
    for (int e = threadIdx.x; e < kTile; e += kThreads) own[e] = sum_of_slices(e);
    int* const counter = reinterpret_cast<int*>(workspace) + tile;
    if (!Block::arrives_last(counter, static_cast<int>(parts))) return;
    if (kGroups > 1 && threadIdx.x < kGroups * kTile) {
      shared[threadIdx.x] = sum_of_parts(threadIdx.x % kTile, threadIdx.x / kTile);
    }
    __syncthreads();
  }

  for (int e = threadIdx.x; e < kTile; e += kThreads) {
    const long long f = first_few + e / kBlockRows;
    const long long row = first_row + e % kBlockRows;
    if (f >= all_few || row >= all_rows) continue;
    Accumulator sum = 0;
    if (parts == 1) {
      sum = sum_of_slices(e);
    } else if (kGroups == 1) {
      sum = sum_of_parts(e, 0);
    } else {
#pragma unroll
      for (int group = 0; group < kGroups; ++group) sum += shared[group * kTile + e];
    }
    if constexpr (sizeof(ElementMany) == 2) {
      const Output output{products.c(c, product), ldc, value_of(alpha), value_of(beta)};
      const long long row_of_c = FEW_SIDE == 0 ? f : row;
      const long long column = FEW_SIDE == 0 ? row : f;
      output.c[row_of_c * ldc + column] = to_element<ElementC>(output.value(row_of_c, column, sum));
    } else {
      ElementC* const to = products.c(c, product) + (FEW_SIDE == 0 ? f * ldc + row : row * ldc + f);
      store_result(to, value_of(alpha) * sum, value_of(beta));
    }
  }
}
