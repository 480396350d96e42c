// gemm_skinny: C = alpha * op(A) * op(B) + beta * C where C has few rows or few columns, in strict
// FP32. Such a product is bound by reading the larger operand once. Therefore each thread loads its
// part of that operand directly into registers, the next batch before it multiplies the current
// one, and no element of it passes through shared memory. The few rows of the other operand are
// used again and again, from shared memory.
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

// Elements of K of each row that a thread loads at a time: 4, 8 or 16.
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
#include "device/cp_async.cuh"
#include "device/element.cuh"
#include "device/grid_dependency.cuh"
#include "device/lane_sums.cuh"
#include "device/operand_rows.cuh"
#include "device/scale_alone.cuh"
#include "device/streaming_load.cuh"
#include "device/sync.cuh"
#include "device/vector.cuh"

using namespace autotune_device;

#if FEW_SIDE == 0
using ElementFew = ElementA;
using ElementMany = ElementB;
#else
using ElementFew = ElementB;
using ElementMany = ElementA;
#endif
static_assert(sizeof(ElementFew) == 4 && sizeof(ElementMany) == 4 && sizeof(Accumulator) == 4,
              "vectors of four elements have 16 bytes");

constexpr bool kKMajor =
    FEW_SIDE == 0 ? TRANSPOSE_B : !TRANSPOSE_A;  // the large operand, in memory
constexpr bool kFewKMajor = FEW_SIDE == 0 ? !TRANSPOSE_A : TRANSPOSE_B;
constexpr int kThreads = 32 * WARPS * SLICE_K;
constexpr int kAcross = 32 / LANES_K;  // lanes of a warp side by side
constexpr int kBlockRows = WARPS * LINES * kAcross;
constexpr int kTile = FEW * kBlockRows;
// Groups of threads that each add some of the blocks' parts of a tile.
constexpr int kGroups = kTile >= kThreads ? 1 : minimum(kThreads / kTile, 32);
// The elements of a lane that one instruction can load: kNeighbours rows of one k, or kRun k of a
// row.
constexpr int kNeighbours = kKMajor ? 1 : minimum(LINES, 4);
constexpr int kRun = kKMajor ? 4 : 1;
// Elements of K that a warp takes at a time.
constexpr int kBatch = UNROLL * LANES_K;
using Block = ThreadGroup<kThreads, true>;

// Returns the distance of a lane's row from its first row.
__device__ constexpr int row_offset(int row) {
  return row / kNeighbours * kAcross * kNeighbours + row % kNeighbours;
}

using FewRows = Rows<ElementFew>;
using ManyRows = Rows<ElementMany>;

// Shared memory holds kChunk elements of K of the few rows: row after row where a lane loads
// several k at a time, otherwise k after k.
constexpr int kStep = SLICE_K * kBatch;  // elements of K that the block takes at a time
constexpr int kChunk = kStep * (FEW * kStep < 8192 ? 8192 / (FEW * kStep) : 1);
constexpr int kSharedElements = maximum(FEW * kChunk, SLICE_K* kTile);

// Returns the offset in shared memory of element k of row f.
__device__ __forceinline__ int shared_offset(int f, int k) {
  return kKMajor ? f * kChunk + k : k * FEW + f;
}

// Copies `count` elements of K of each of the few rows to shared memory, from k on, and fills the
// last step. Elements beyond the count and the matrix become -0: it meets +0, and their product,
// -0, is the one number that changes no sum. All threads of the block call this.
__device__ __forceinline__ void copy_few(const FewRows& few, long long k, int count,
                                         ElementFew* shared) {
  const int rounded = (count - 1) / kStep * kStep + kStep;
  const int thread = threadIdx.x;
  const auto copy_one = [&](int f, int at_k, const ElementFew* from) {
    ElementFew* const to = shared + shared_offset(f, at_k);
    if (f < few.left && at_k < count) {
      cp_async<1, true>(to, from);
    } else {
      *to = -0.0f;
    }
  };
  if (kFewKMajor || (FEW == 1 && few.leading == 1)) {
#pragma unroll 1
    for (int f = 0; f < FEW; ++f) {
      const ElementFew* const row = few.at + f * few.leading + k;
      int by_four = 0;  // elements that are copied as vectors
      if ((kKMajor || FEW == 1) && reinterpret_cast<unsigned long long>(row) % 16 == 0) {
        by_four = f < few.left ? count / 4 * 4 : 0;
#pragma unroll 4
        for (int e = 4 * thread; e < by_four; e += 4 * kThreads) {
          cp_async<4, true>(shared + shared_offset(f, e), row + e);
        }
      }
#pragma unroll 4
      for (int e = by_four + thread; e < rounded; e += kThreads) copy_one(f, e, row + e);
    }
  } else {
#pragma unroll 4
    for (int e = thread; e < FEW * rounded; e += kThreads) {
      copy_one(e % FEW, e / FEW, few.at + (k + e / FEW) * few.leading + e % FEW);
    }
  }
  cp_async_wait_all();
}

using Sums = Accumulator[FEW][LINES];

// A batch of the large operand in registers: UNROLL elements of each of this thread's rows.
class Batch {
 public:
  // Returns the distance of this lane's element i along K from the first k of the batch.
  static __device__ __forceinline__ int k_offset(int i) {
    const int lane_k = static_cast<int>(threadIdx.x % 32) / kAcross;
    return (i / kRun * LANES_K + lane_k) * kRun + i % kRun;
  }

  // Loads the batch that begins at k; elements from k_end on become 0. The lanes of a warp may
  // differ in whether their rows can be loaded as vectors.
  __device__ __forceinline__ void load(const ManyRows& many, long long k, long long k_end,
                                       CachePolicy policy) {
    if (many.aligned && (kKMajor || many.left > row_offset(LINES - 1))) {
      load<true>(many, k, k_end, policy);
    } else {
      load<false>(many, k, k_end, policy);
    }
  }

  template <bool kWide>
  __device__ __forceinline__ void load(const ManyRows& many, long long k, long long k_end,
                                       CachePolicy policy) {
    if (kKMajor) {
#pragma unroll
      for (int i = 0; i < UNROLL; i += 4) {
        const long long own = k + k_offset(i);
#pragma unroll
        for (int row = 0; row < LINES; ++row) {
          const int existing = minimum(row_offset(row), many.left - 1);
          const ElementMany* const from = many.at + existing * many.leading + own;
          if (kWide && own + 4 <= k_end) {
            const auto v = load_once<4, L2_PERSIST>(from, policy);
#pragma unroll
            for (int e = 0; e < 4; ++e) at[i + e][row] = v.at[e];
          } else {
#pragma unroll
            for (int e = 0; e < 4; ++e) {
              at[i + e][row] =
                  own + e < k_end ? load_once<1, L2_PERSIST>(from + e, policy).at[0] : 0.0f;
            }
          }
        }
      }
    } else {
      constexpr int kWidth = kWide ? kNeighbours : 1;
#pragma unroll
      for (int i = 0; i < UNROLL; ++i) {
        const long long own = k + k_offset(i);
        const ElementMany* const from = many.at + own * many.leading;
#pragma unroll
        for (int row = 0; row < LINES; row += kWidth) {
          const int existing = kWide ? row_offset(row) : minimum(row_offset(row), many.left - 1);
          Vector<ElementMany, kWidth> v = {};
          if (own < k_end) v = load_once<kWidth, L2_PERSIST>(from + existing, policy);
#pragma unroll
          for (int e = 0; e < kWidth; ++e) at[i][row + e] = v.at[e];
        }
      }
    }
  }

  // Adds the products of this batch to the sums. few: the few rows in shared memory, from the
  // batch's first k on.
  __device__ __forceinline__ void multiply(const ElementFew* few, Sums& sums) const {
    if (kKMajor) {
#pragma unroll
      for (int i = 0; i < UNROLL; i += 4) {
#pragma unroll
        for (int f = 0; f < FEW; ++f) {
          const auto v = load_vector<4>(few + shared_offset(f, k_offset(i)));
#pragma unroll
          for (int e = 0; e < 4; ++e) add(v.at[e], i + e, sums[f]);
        }
      }
    } else {
      constexpr int kWidth = minimum(FEW, 4);
#pragma unroll
      for (int i = 0; i < UNROLL; ++i) {
#pragma unroll
        for (int f = 0; f < FEW; f += kWidth) {
          const auto v = load_vector<kWidth>(few + shared_offset(f, k_offset(i)));
#pragma unroll
          for (int e = 0; e < kWidth; ++e) add(v.at[e], i, sums[f + e]);
        }
      }
    }
  }

 private:
  ElementMany at[UNROLL][LINES];

  __device__ __forceinline__ void add(ElementFew factor, int i, Accumulator* sums) const {
#pragma unroll
    for (int row = 0; row < LINES; ++row) sums[row] = multiply_add(factor, at[i][row], sums[row]);
  }
};

// Adds the products of the elements [begin, end) of K to the sums. All threads of the block call
// this.
__device__ __forceinline__ void accumulate(const FewRows& few, const ManyRows& many,
                                           long long begin, long long end, ElementFew* shared,
                                           Sums& sums) {
  const int own = static_cast<int>(threadIdx.x) / (32 * WARPS) * kBatch;  // of a step
  const CachePolicy policy = l2_persist_policy<L2_PERSIST>();
  Batch next;
  next.load(many, begin + own, end, policy);
  for (long long chunk = begin; chunk < end; chunk += kChunk) {
    const int count = end - chunk < kChunk ? static_cast<int>(end - chunk) : kChunk;
    if (chunk > begin) __syncthreads();  // all threads have read the previous chunk
    copy_few(few, chunk, count, shared);
    __syncthreads();
#pragma unroll 1
    for (int k = own; k < count; k += kStep) {
      const Batch batch = next;
      next.load(many, chunk + k + kStep, end, policy);
      batch.multiply(shared + shared_offset(0, k), sums);
    }
  }
  __syncthreads();
}

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
    gemm_skinny(const ElementA* __restrict__ a, const ElementB* __restrict__ b,
                ElementC* __restrict__ c, long long m, long long n, long long k, long long lda,
                long long ldb, long long ldc, Scalar alpha, Scalar beta,
                float* __restrict__ workspace, unsigned BATCH_PARAMETERS) {
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
  const unsigned part = blockIdx.x / tiles;
  const unsigned tile = blockIdx.x % tiles;
  const unsigned product = products.product(tile);
  if (!products.has(product)) return;
  const unsigned in_product = products.in_product(tile);
  const long long first_few = static_cast<long long>(in_product % tiles_few) * FEW;
  const long long first_row = static_cast<long long>(in_product / tiles_few) * kBlockRows;

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
  const FewRows few(products.a(a, product), lda, all_few, first_few, kFewKMajor);
  const ManyRows many(products.b(b, product), ldb, all_rows, own_row, kKMajor);
#else
  const FewRows few(products.b(b, product), ldb, all_few, first_few, kFewKMajor);
  const ManyRows many(products.a(a, product), lda, all_rows, own_row, kKMajor);
#endif
  Sums sums = {};
  griddep_wait(static_cast<int>(end - begin) | few.left | many.left);
  accumulate(few, many, begin, end, shared, sums);
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
    ElementC* const to = products.c(c, product) + (FEW_SIDE == 0 ? f * ldc + row : row * ldc + f);
    store_result(to, value_of(alpha) * sum, value_of(beta));
  }
}
