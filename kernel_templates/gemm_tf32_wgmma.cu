// gemm_tf32_wgmma: C = alpha * op(A) * op(B) + beta * C on the tensor cores of compute capability
// 9.0, with operands that are rounded to TF32 or split into two TF32 values while they are
// multiplied. Nothing is prepared: each operand is read once for each tile of the other's rows, so
// that the kernel is for products of which one side is at most a tile or two.
//
// kProducts == 1 (--math tf32) and 3 (--math emulated) are those of gemm_tf32, whose comments have
// the arithmetic. The sums of all three products are promoted after each k_tile.
//
// The left operand's fragments are in registers. The right operand is in shared memory, along K, as
// the matrix instructions read it. With SWAP_AB the kernel computes the transposed product, so that
// either operand can be the left one.
//
// Copying threads start the copies of both operands (cp.async), which arrive as they lie in memory,
// and split the right one. Each group of four consumer warps splits and multiplies 64 rows of the
// left one. Blocks are persistent and divide the k_tiles of all tiles evenly or take tiles in turn;
// with CLUSTER_K above 1 there is a cluster for each tile instead, whose blocks have a part of K
// each (device/cluster_k.cuh).
//
// Matrices are row-major with leading dimensions in elements; 1 <= m, n, k < 2^31. Launch: kThreads
// threads and kBuffers + 4 * kExchange bytes of dynamic shared memory; any number of blocks up to
// the k_tiles of all tiles, or one cluster for each tile with CLUSTER_K above 1. workspace: behind
// the counters two parts of a tile for each block. All code is for sm_90a alone.

// 1: the kernel computes C^T = op(B)^T * op(A)^T: the left operand is op(B)^T.
#ifndef SWAP_AB
#define SWAP_AB 0
#endif

// Columns of the right operand in a tile: 64 or 128.
#ifndef BLOCK_N
#define BLOCK_N 128
#endif

// Groups of four consumer warps, with 64 rows of the left operand each: 1 or 2.
#ifndef WARPGROUPS
#define WARPGROUPS 2
#endif

// Blocks of a cluster that split K of one tile: 1, 2, 4 or 8.
#ifndef CLUSTER_K
#define CLUSTER_K 1
#endif

// 1: results may be as inaccurate as TF32 operands make them. The problem's math decides it.
#ifndef MATH_TF32
#define MATH_TF32 0
#endif

// 1: all operands have addresses and rows of whole 16 bytes.
#ifndef ALIGNED
#define ALIGNED 0
#endif

#include "device/element.cuh"
#include "device/grid_dependency.cuh"
#include "device/magnitudes.cuh"
#include "device/recompute.cuh"
#include "device/scale_alone.cuh"
#include "device/tf32_pipeline.cuh"
#include "device/tma.cuh"
#include "device/wgmma_tf32.cuh"

#ifdef __CUDACC__

using namespace autotune_device;

using LeftMagnitudes = Magnitudes<Left, kConsumers>;
using RightMagnitudes = Magnitudes<Right, kConsumers>;

// Splits 8 k of this lane's rows into `high` and, with three products, `low`. from: the lane's
// first.
__device__ __forceinline__ void split(const float* from, Fragment<4>& high, Fragment<4>& low) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float x = from[Left::offset(i % 2 * 8, i / 2 * 4)];
    if constexpr (kProducts == 1) {
      high.at[i] = round_to_tf32(x);
    } else {
      high.at[i] = bits_of(high_tf32(x));
      low.at[i] = bits_of(x - high_tf32(x));
    }
  }
}

// The magnitudes of a work tile's rows and columns, of which the consumer threads share the
// elements.
struct TileMagnitudes {
  LeftMagnitudes left;
  RightMagnitudes right;
  unsigned least = ~0U;

  __device__ __forceinline__ void add(const float* from_left, const float* from_right) {
#pragma unroll
    for (int k = 0; k < BLOCK_K; k += 8) {
      left.add(from_left + LeftMagnitudes::first() + Left::offset(0, k), least);
      right.add(from_right + RightMagnitudes::first() + Right::offset(0, k), least);
    }
  }

  // Makes those sums NaN for which three products do not suffice. All consumer threads call this.
  __device__ __forceinline__ void discard_uneven(int k_count, float limit, float* exchange,
                                                 float (&sums)[kSums]) const {
    float* const of_rows = exchange + 3 * kConsumers;
    float* const of_columns = of_rows + kTileRows;
    sync();  // all threads have read what the tile before left there
    left.put(exchange, least);
    sync();
    LeftMagnitudes::put_unevenness(exchange, k_count, of_rows);
    sync();
    right.put(exchange, least);
    sync();
    RightMagnitudes::put_unevenness(exchange, k_count, of_columns);
    sync();
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const float* const row = of_rows + static_cast<int>(threadIdx.x) / 32 * 16 + lane / 4;
    const float* const column = of_columns + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < kSums; ++i) {
      const float unevenness = row[i / 2 % 2 * 8] + column[i / 4 * 8 + i % 2];
      if (unevenness > limit) sums[i] = float_of(0x7fffffffU);
    }
  }

 private:
  static __device__ __forceinline__ void sync() {
    asm volatile("bar.sync %0, %1;" ::"n"(1 + WARPGROUPS), "n"(kConsumers) : "memory");
  }
};

// Adds the products of a k_tile to the sums.
__device__ __forceinline__ void multiply(const Buffers& buffers, unsigned k_tile,
                                         float (&sums)[kSums]) {
  constexpr int kSteps = BLOCK_K / 8;
  constexpr int kStep = 32 / 16;  // as descriptors count
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int row = static_cast<int>(threadIdx.x) / 32 * 16 + lane / 4;
  const float* const left = buffers.left(k_tile);
  Fragment<4> high[kSteps], low[kSteps];
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    split(left + Left::offset(row, lane % 4 + 8 * i), high[i], low[i]);
  }
  const unsigned long long b = matrix_descriptor(shared_address(buffers.split(k_tile)));
  if constexpr (kProducts == 1) {
    pin(sums);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < kSteps; ++i) wgmma_tf32(sums, high[i], b + i * kStep, 1);
    wgmma_commit();
    wgmma_wait<0>();
    pin(sums);
  } else {
    constexpr int kLow = 4 * kSplitFloats / 16;
    float part[kSums];
    const auto promote = [&] {
      wgmma_commit();
      wgmma_wait<0>();
      pin(part);
#pragma unroll
      for (int i = 0; i < kSums; ++i) sums[i] += part[i];
    };
    pin(part);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < kSteps; ++i) wgmma_tf32(part, high[i], b + i * kStep, i > 0);
    promote();
    pin(part);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
      wgmma_tf32(part, low[i], b + i * kStep, i > 0);
      wgmma_tf32(part, high[i], b + i * kStep + kLow, 1);
    }
    promote();
  }
}

// Sets sums to those of the next k_tiles, of k_count elements of K, from the k_tile `at` of the
// block on. All consumer threads call this. limit: of unevenness.
__device__ __forceinline__ void accumulate(const Buffers& buffers, unsigned& at, unsigned k_tiles,
                                           int k_count, float limit, float* exchange,
                                           float (&sums)[kSums]) {
  TileMagnitudes magnitudes;
#pragma unroll
  for (int i = 0; i < kSums; ++i) sums[i] = 0;
#pragma unroll 1
  for (const unsigned end = at + k_tiles; at < end; ++at) {
    buffers.wait_full(at);
    fence_proxy_async();  // for what the copying threads have split
    multiply(buffers, at, sums);
    if constexpr (kProducts == 3) magnitudes.add(buffers.left(at), buffers.right(at));
    Buffers::arrive_warp(buffers.empty + at % kStages);
  }
  if constexpr (kProducts == 3) magnitudes.discard_uneven(k_count, limit, exchange, sums);
}

// Stores a thread's results in kColumns columns of a tile.
template <int kColumns>
struct Epilogue {
  static constexpr int kSums = kColumns / 2;
  struct Words {};  // nothing is loaded ahead

  Matrix left, right;
  float* c;
  long long ldc;
  int k;
  float alpha, beta;

  __device__ __forceinline__ Words load_words(int, int) const { return {}; }

  // row, column: the first of the tile.
  __device__ __forceinline__ void store(float (&sums)[kSums], const Words&, int row,
                                        int column) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    row += static_cast<int>(threadIdx.x) / 32 * 16 + lane / 4;
    column += lane % 4 * 2;
    if (kProducts == 3) compute_not_finite(sums, row, column);
    const long long to_row = SWAP_AB ? 1 : ldc, to_column = SWAP_AB ? ldc : 1;
    float* const first = c + row * to_row + column * to_column;
    const bool wide = !SWAP_AB && ldc % 2 == 0 && reinterpret_cast<unsigned long long>(c) % 8 == 0;
#pragma unroll
    for (int i = 0; i < kSums; i += 2) {
      const int at_row = row + row_of(i), at_column = column + column_of(i);
      if (at_row >= left.rows) continue;
      float* const to = first + row_of(i) * to_row + column_of(i) * to_column;
      if (wide && at_column + 1 < right.rows) {
        Vector<float, 2> v = {};
        if (beta != 0) v = load_vector<2>(to);
        v.at[0] = scaled_result(alpha * sums[i], beta, v.at[0]);
        v.at[1] = scaled_result(alpha * sums[i + 1], beta, v.at[1]);
        store_vector<2>(to, v);
        continue;
      }
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        if (at_column + e >= right.rows) continue;
        store_result(to + e * to_column, alpha * sums[i + e], beta);
      }
    }
  }

 private:
  static __device__ __forceinline__ int row_of(int sum) {
    return sum / 2 % 2 * 8;
  }
  static __device__ __forceinline__ int column_of(int sum) {
    return sum / 4 * 8 + sum % 2;
  }

  // Computes the results that are not finite again, with FFMA.
  __device__ __forceinline__ void compute_not_finite(float (&sums)[kSums], int row,
                                                     int column) const {
    constexpr int kAtOnce = 16;  // which share what they load, so that all of them are computed
#pragma unroll
    for (int i = 0; i < kSums; i += kAtOnce) {
      bool all_finite = true;
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j) all_finite &= is_finite(sums[i + j]);
      if (!all_finite) compute_again<kAtOnce>(sums + i, row, column + column_of(i));
    }
  }

  template <int kCount>
  __device__ __forceinline__ void compute_again(float* sums, int row, int column) const {
    float again[kCount] = {};
    const long long to_row = kLeftKMajor ? left.ld : 1, to_column = kRightKMajor ? right.ld : 1;
    add_chains({left.first + row * to_row, to_row, kLeftKMajor ? 1 : left.ld, row, left.rows},
               {right.first + column * to_column, to_column, kRightKMajor ? 1 : right.ld, column,
                right.rows},
               k, again);
#pragma unroll
    for (int i = 0; i < kCount; ++i) sums[i] = is_finite(sums[i]) ? sums[i] : again[i];
  }
};

#if CLUSTER_K > 1
#define CLUSTER_ATTRIBUTE __cluster_dims__(CLUSTER_K, 1, 1)
#else
#define CLUSTER_ATTRIBUTE
#endif

extern "C" __global__ void CLUSTER_ATTRIBUTE __launch_bounds__(kThreads, 1)
    gemm_tf32_wgmma(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                    long long m, long long n, long long k, long long lda, long long ldb,
                    long long ldc, Scalar alpha, Scalar beta, float* __restrict__ workspace,
                    unsigned raster) {
  extern __shared__ __align__(1024) unsigned char shared[];
  __shared__ Barrier barriers[2 * kStages];
  [[maybe_unused]] __shared__ int flags[WARPGROUPS];
  if (scales_alone(alpha, beta, c, m, n, k, ldc, {1, 0, 0, 0, 0})) return;
  const Buffers buffers{shared, barriers, barriers + kStages};
  if (threadIdx.x == 0) buffers.init();
  const Matrix of_a{a, lda, static_cast<int>(m)}, of_b{b, ldb, static_cast<int>(n)};
  const Matrix left = SWAP_AB ? of_b : of_a, right = SWAP_AB ? of_a : of_b;
  const TileGrid grid{static_cast<unsigned>((m - 1) / kTileM + 1),
                      static_cast<unsigned>((n - 1) / kTileN + 1), raster};
  const WorkPartition partition(grid.along_m * grid.along_n,
                                static_cast<unsigned>((k - 1) / BLOCK_K + 1));
  WorkTiles work_tiles(partition);
  cluster_sync();
  griddep_wait(static_cast<int>(partition.clusters));
  if (threadIdx.x >= kConsumers) {
    warpgroup_reg_dealloc<kCopyRegisters>();
    Copies copies(buffers, left, right, static_cast<int>(k), work_tiles, grid);
    copy_and_split(buffers, copies);
    if (CLUSTER_K > 1) {
      __syncwarp();
      cluster_sync();  // the consumers' (ClusterSums)
    }
  } else {
    warpgroup_reg_alloc<kRegisters>();
    float* const exchange = reinterpret_cast<float*>(shared + kBuffers);
    constexpr int kStored = CLUSTER_K > 1 ? TileSums::kStoredN : kTileColumns;
    const Epilogue<kStored> epilogue{
        left, right, c, ldc, static_cast<int>(k), value_of(alpha), value_of(beta)};
    unsigned at = 0;
    WorkTile work;
    while (work_tiles.next(work)) {
      const Place place(grid, work.tile);
      const long long end = static_cast<long long>(work.end) * BLOCK_K;
      const long long k_count = (end < k ? end : k) - static_cast<long long>(work.begin) * BLOCK_K;
      float sums[kSums];
      accumulate(buffers, at, work.end - work.begin, static_cast<int>(k_count), unevenness_limit(k),
                 exchange, sums);
#if CLUSTER_K > 1
      const TileSums tile_sums{shared_address(shared)};
      tile_sums.put(shared, sums);
      cluster_sync();
      tile_sums.store(epilogue, place.row, place.column);
#else
      if (work.end - work.begin == partition.k_tiles ||
          add_parts<WARPGROUPS, 128>(reinterpret_cast<int*>(workspace),
                                     workspace + kWorkspaceCounters, partition, work.tile, flags,
                                     sums)) {
        epilogue.store(sums, {}, place.row, place.column);
      }
#endif
    }
  }
  if (CLUSTER_K > 1) cluster_sync();  // other blocks may still read this one's sums
}

#endif
