// gemm_tf32: C = alpha * op(A) * op(B) + beta * C with the matrix instructions that compute
// capability 8.0 introduced, and with operands that are rounded to TF32.
//
// kProducts == 1 (--math tf32): operands are rounded to 11 significant bits.
// kProducts == 3 (--math emulated): as accurate as FP32. Each element is split in registers into
// high + low, two TF32 values that hold 22 bits, and a tile of C is
//   sum of high * high + (sum of low * high + sum of high * low);
// low * low is left out. The matrix instructions truncate sums, so that the error of high * high
// would grow with K: its sums are promoted after each kPromote elements of K, which means that they
// are added to others in FP32 registers. The corrections have sums of their own, which are 2^-12 as
// large and are added once (Ootomo and Yokota, IJHPCA 2022, for TF32).
// Such a product has a greater error than one rounding. FP32 makes up for that in sums of many
// products, because it rounds after each. It does not where an element is so far beyond the others
// of its row and column that a sum is nearly one product. Those sums, and those with magnitudes
// below kLeastSplit, which have no low part, are made NaN (see Magnitudes). Sums that are not
// finite, for that or another reason, are computed again with FFMA, from the operands themselves,
// so that infinities and NaN come out where FP32 has them.
//
// k_tiles are copied to a ring of STAGES buffers by cp.async, as they lie in memory, with gaps that
// keep the reads of fragments free of bank conflicts. Blocks divide the k_tiles of all tiles evenly
// or take tiles in turn (device/even_shares.cuh).
//
// Zeros beyond K are +0, so a sum that underflowed to -0 becomes +0.
//
// Matrices are row-major with leading dimensions in elements; 1 <= m, n, k < 2^31. Launch: kThreads
// threads, kSharedFloats floats of dynamic shared memory; any number of blocks up to the k_tiles of
// all tiles. workspace: behind the counters two parts of a tile for each block.

// Rows and columns of a warp's tile: 16, 32 or 64 and 32 or 64, one at most twice the other, and
// together at most 96.
#ifndef WARP_M
#define WARP_M 64
#endif
#ifndef WARP_N
#define WARP_N 32
#endif

// Warps of a block along M and N: 1, 2 or 4, together 4 or 8.
#ifndef WARPS_M
#define WARPS_M 2
#endif
#ifndef WARPS_N
#define WARPS_N 4
#endif

// Elements of K in a k_tile: 16 or 32.
#ifndef BLOCK_K
#define BLOCK_K 32
#endif

// Elements of K between two branches: 8 or 16.
#ifndef UNROLL
#define UNROLL 8
#endif

// Buffers in shared memory: 2 to 4.
#ifndef STAGES
#define STAGES 3
#endif

// Blocks of an SM that the compiler leaves registers for: 1 to 3.
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 1
#endif

// 1: results may be as inaccurate as TF32 operands make them. The problem's math decides it.
#ifndef MATH_TF32
#define MATH_TF32 0
#endif

// 1: all operands have addresses and rows of whole 16 bytes.
#ifndef ALIGNED
#define ALIGNED 0
#endif

#undef CLUSTER
#define CLUSTER 1

#include "device/copied_operand.cuh"
#include "device/element.cuh"
#include "device/even_shares.cuh"
#include "device/grid_dependency.cuh"
#include "device/magnitudes.cuh"
#include "device/mma.cuh"
#include "device/recompute.cuh"
#include "device/scale_alone.cuh"
#include "device/sync.cuh"
#include "device/vector.cuh"

using namespace autotune_device;

constexpr int kProducts = MATH_TF32 ? 1 : 3;  // of TF32, for one of FP32
constexpr int kThreads = 32 * WARPS_M * WARPS_N;
constexpr int kTileM = WARPS_M * WARP_M;
constexpr int kTileN = WARPS_N * WARP_N;
constexpr int kFragmentsM = WARP_M / 16;
constexpr int kFragmentsN = WARP_N / 8;
constexpr int kSums = 4 * kFragmentsM * kFragmentsN;  // of a thread
// Elements of K between promotions. A warp's larger tiles have no registers for more sums.
constexpr int kPromote = kSums > 32 ? 8 : BLOCK_K;
constexpr int kUnroll = UNROLL / 8;
// Whether magnitudes are taken beside the multiplication. Small tiles, and those of which a thread
// would take more than 8 elements at a time, have no registers for both at once.
constexpr bool kInterleaved = kSums > 16 && kTileM + kTileN <= kThreads;

// One operand's k_tiles in shared memory.
template <int kRows, bool kKMajor>
using Operand = CopiedOperand<kRows, kKMajor, kThreads>;

using OperandA = Operand<kTileM, !TRANSPOSE_A>;
using OperandB = Operand<kTileN, TRANSPOSE_B>;
using MagnitudesA = Magnitudes<OperandA, kThreads>;
using MagnitudesB = Magnitudes<OperandB, kThreads>;
constexpr int kStage = OperandA::kSize + OperandB::kSize;
constexpr int kSharedFloats = STAGES * kStage;

// An element as one or two TF32 values.
template <int kCount>
__device__ __forceinline__ void split(float x, int i, Fragment<kCount>& high,
                                      Fragment<kCount>& low) {
  if (kProducts == 1) {
    high.at[i] = round_to_tf32(x);
    return;
  }
  high.at[i] = bits_of(high_tf32(x));
  low.at[i] = bits_of(x - high_tf32(x));
}

// Where a thread's fragments and sums lie in the block's tile.
struct Place {
  int row, column;  // of its first element of A and of B
  int k;            // of both
  int sums_row, sums_column;

  __device__ __forceinline__ Place() {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int warp = static_cast<int>(threadIdx.x / 32);
    const int warp_row = warp % WARPS_M * WARP_M;
    const int warp_column = warp / WARPS_M * WARP_N;
    row = sums_row = warp_row + lane / 4;
    column = warp_column + lane / 4;
    k = lane % 4;
    sums_column = warp_column + lane % 4 * 2;
  }
  static __device__ __forceinline__ int row_of(int sum) {
    return sum / 4 / kFragmentsN * 16 + sum / 2 % 2 * 8;
  }
  static __device__ __forceinline__ int column_of(int sum) {
    return sum / 4 % kFragmentsN * 8 + sum % 2;
  }
};

// The sums of a thread.
struct Sums {
  float promoted[kSums], corrections[kSums];
  float high[kPromote > 8 ? kSums : 1];  // that are not promoted yet

  __device__ __forceinline__ void promote() {
#pragma unroll
    for (int i = 0; i < kSums; ++i) {
      promoted[i] += high[i];
      high[i] = 0;
    }
  }
};

// Adds the products of 8 k. a and b: the thread's first elements.
__device__ __forceinline__ void multiply(const float* a, const float* b, Sums& sums) {
  Fragment<4> high_a[kFragmentsM], low_a[kFragmentsM];
  Fragment<2> high_b[kFragmentsN], low_b[kFragmentsN];
#pragma unroll
  for (int i = 0; i < 4 * kFragmentsM; ++i) {
    const float x = a[OperandA::offset(i / 4 * 16 + i % 2 * 8, i / 2 % 2 * 4)];
    split(x, i % 4, high_a[i / 4], low_a[i / 4]);
  }
#pragma unroll
  for (int i = 0; i < 2 * kFragmentsN; ++i) {
    const float x = b[OperandB::offset(i / 2 * 8, i % 2 * 4)];
    split(x, i % 2, high_b[i / 2], low_b[i / 2]);
  }
#pragma unroll
  for (int i = 0; i < kFragmentsM; ++i) {
#pragma unroll
    for (int j = 0; j < kFragmentsN; ++j) {
      const int first = 4 * (i * kFragmentsN + j);
      if (kProducts == 1) {
        mma_tf32<kThreads>(sums.promoted + first, high_a[i], high_b[j]);
        continue;
      }
      mma_tf32<kThreads>(sums.corrections + first, low_a[i], high_b[j]);
      mma_tf32<kThreads>(sums.corrections + first, high_a[i], low_b[j]);
      if constexpr (kPromote > 8) {
        mma_tf32<kThreads>(sums.high + first, high_a[i], high_b[j]);
      } else {
        float high[4] = {};
        mma_tf32<kThreads>(high, high_a[i], high_b[j]);
#pragma unroll
        for (int e = 0; e < 4; ++e) sums.promoted[first + e] += high[e];
      }
    }
  }
}

// Makes those sums NaN for which three products do not suffice. All threads of the block call this,
// with nothing else in shared memory.
__device__ __forceinline__ void discard_uneven(const MagnitudesA& a, const MagnitudesB& b,
                                               unsigned least, int k_count, float limit,
                                               const Place& place, float* shared, Sums& sums) {
  float* const shared_b = shared + MagnitudesA::kShared;
  float* const of_rows = shared_b + MagnitudesB::kShared;
  float* const of_columns = of_rows + kTileM;
  static_assert(2 * MagnitudesA::kShared + kTileM + kTileN <= kSharedFloats);
  __syncthreads();
  a.put(shared, least);
  b.put(shared_b, least);
  __syncthreads();
  MagnitudesA::put_unevenness(shared, k_count, of_rows);
  MagnitudesB::put_unevenness(shared_b, k_count, of_columns);
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kSums; ++i) {
    const float unevenness = of_rows[place.sums_row + Place::row_of(i)] +
                             of_columns[place.sums_column + Place::column_of(i)];
    if (unevenness > limit) sums.promoted[i] = float_of(0x7fffffffU);
  }
}

// Sets sums.promoted to the sums of the next k_count elements of K. All threads of the block call
// this. readable: any address. limit: of unevenness.
__device__ __forceinline__ void accumulate(OperandA& a, OperandB& b, int k_count,
                                           const float* readable, float limit, const Place& place,
                                           float* shared, Sums& sums) {
  const int k_tiles = (k_count - 1) / BLOCK_K + 1;
  int k_left = k_count;  // to be copied
  float* filling = shared;
  const auto copy_next = [&] {
    if (k_left > 0) {
      a.copy(filling, readable, k_left);
      b.copy(filling + OperandA::kSize, readable, k_left);
    }
    cp_async_commit();
    k_left -= BLOCK_K;
    filling = filling == shared + (STAGES - 1) * kStage ? shared : filling + kStage;
  };
  __syncthreads();  // all threads have read what the tile before left there
#pragma unroll 1
  for (int stage = 0; stage < STAGES - 1; ++stage) copy_next();
#pragma unroll
  for (int i = 0; i < kSums; ++i) sums.promoted[i] = sums.corrections[i] = 0;
  for (float& sum : sums.high) sum = 0;
  MagnitudesA magnitudes_a;
  MagnitudesB magnitudes_b;
  unsigned least = ~0U;

  const float* reading = shared;
  const auto add_magnitudes = [&](int k) {
    magnitudes_a.add(reading + MagnitudesA::first() + OperandA::offset(0, k), least);
    magnitudes_b.add(reading + OperandA::kSize + MagnitudesB::first() + OperandB::offset(0, k),
                     least);
  };
#pragma unroll 1
  for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
    cp_async_wait<STAGES - 2>();
    __syncthreads();  // the k_tile is complete, and all threads have read the one before
    copy_next();
    const float* const own_a = reading + OperandA::offset(place.row, place.k);
    const float* const own_b = reading + OperandA::kSize + OperandB::offset(place.column, place.k);
#pragma unroll kUnroll
    for (int k = 0; k < BLOCK_K; k += 8) {
      multiply(own_a + OperandA::offset(0, k), own_b + OperandB::offset(0, k), sums);
      if constexpr (kProducts == 3 && kInterleaved) add_magnitudes(k);
    }
    if constexpr (kProducts == 3 && !kInterleaved) {
#pragma unroll
      for (int k = 0; k < BLOCK_K; k += 8) add_magnitudes(k);
    }
    if constexpr (kProducts == 3 && kPromote > 8) sums.promote();
    reading = reading == shared + (STAGES - 1) * kStage ? shared : reading + kStage;
  }
  if constexpr (kProducts == 3) {
#pragma unroll
    for (int i = 0; i < kSums; ++i) sums.promoted[i] += sums.corrections[i];
    discard_uneven(magnitudes_a, magnitudes_b, least, k_count, limit, place, shared, sums);
  }
}

// Stores a thread's results.
struct Epilogue {
  const float *a, *b;
  float* c;
  long long m, n, k, lda, ldb, ldc;
  float alpha, beta;

  __device__ __forceinline__ void store(float (&sums)[kSums], long long row,
                                        long long column) const {
    if (kProducts == 3) compute_not_finite(sums, row, column);
    const bool wide = ldc % 2 == 0 && reinterpret_cast<unsigned long long>(c) % 8 == 0;
#pragma unroll
    for (int i = 0; i < kSums; i += 2) {
      const long long at_row = row + Place::row_of(i);
      const long long at_column = column + Place::column_of(i);
      if (at_row >= m) continue;
      float* const to = c + at_row * ldc + at_column;
      if (wide && at_column + 1 < n) {
        Vector<float, 2> v = {};
        if (beta != 0) v = load_vector<2>(to);
        v.at[0] = scaled_result(alpha * sums[i], beta, v.at[0]);
        v.at[1] = scaled_result(alpha * sums[i + 1], beta, v.at[1]);
        store_vector<2>(to, v);
        continue;
      }
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        if (at_column + e < n) store_result(to + e, alpha * sums[i + e], beta);
      }
    }
  }

 private:
  // Computes the results that are not finite again.
  __device__ __forceinline__ void compute_not_finite(float (&sums)[kSums], long long row,
                                                     long long column) const {
    bool all_finite = true;
#pragma unroll
    for (int i = 0; i < kSums; ++i) all_finite &= is_finite(sums[i]);
    if (all_finite) return;
#pragma unroll
    for (int i = 0; i < kFragmentsM; ++i) {
      compute_rows(sums + 4 * kFragmentsN * i, row + 16 * i, column);
    }
  }

  // The same for two rows. All of their results are computed, because they share what they load.
  __device__ __forceinline__ void compute_rows(float* sums, long long row, long long column) const {
    float again[4 * kFragmentsN] = {};
    const int rows_left = m - row < 16 ? static_cast<int>(m - row) : 16;
    const int columns_left = n - column < WARP_N ? static_cast<int>(n - column) : WARP_N;
    const long long to_row = TRANSPOSE_A ? 1 : lda, to_column = TRANSPOSE_B ? ldb : 1;
    add_chains({a + row * to_row, to_row, TRANSPOSE_A ? lda : 1, 0, rows_left},
               {b + column * to_column, to_column, TRANSPOSE_B ? 1 : ldb, 0, columns_left}, k,
               again);
#pragma unroll
    for (int i = 0; i < 4 * kFragmentsN; ++i) sums[i] = is_finite(sums[i]) ? sums[i] : again[i];
  }
};

extern "C" __global__ void __launch_bounds__(kThreads, MIN_BLOCKS)
    gemm_tf32(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
              long long m, long long n, long long k, long long lda, long long ldb, long long ldc,
              Scalar alpha, Scalar beta, float* __restrict__ workspace, unsigned raster) {
#ifdef __CUDACC__
  extern __shared__ __align__(16) float shared[];
#else
  alignas(16) __shared__ float shared[kSharedFloats];
#endif
  __shared__ int flags[1];
  if (scales_alone(alpha, beta, c, m, n, k, ldc, {1, 0, 0, 0, 0})) return;
  const TileGrid grid{static_cast<unsigned>((m - 1) / kTileM + 1),
                      static_cast<unsigned>((n - 1) / kTileN + 1), raster};
  const WorkPartition partition(grid.along_m * grid.along_n,
                                static_cast<unsigned>((k - 1) / BLOCK_K + 1));
  TileScheduler scheduler(partition);
  const Place place;
  const Epilogue epilogue{a, b, c, m, n, k, lda, ldb, ldc, value_of(alpha), value_of(beta)};
  griddep_wait(static_cast<int>(partition.clusters));
  WorkTile work;
  while (scheduler.next(work)) {
    int row, column;
    grid.place(work.tile, kTileM, kTileN, row, column);
    const long long first_k = static_cast<long long>(work.begin) * BLOCK_K;
    const long long k_end = static_cast<long long>(work.end) * BLOCK_K;
    OperandA operand_a(a, lda, row, m, first_k);
    OperandB operand_b(b, ldb, column, n, first_k);
    Sums sums;
    accumulate(operand_a, operand_b, static_cast<int>((k_end < k ? k_end : k) - first_k), a,
               unevenness_limit(k), place, shared, sums);
    if (work.end - work.begin < partition.k_tiles &&
        !add_parts<1, kThreads>(reinterpret_cast<int*>(workspace), workspace + kWorkspaceCounters,
                                partition, work.tile, flags, sums.promoted)) {
      continue;
    }
    epilogue.store(sums.promoted, static_cast<long long>(row) + place.sums_row,
                   static_cast<long long>(column) + place.sums_column);
  }
}
