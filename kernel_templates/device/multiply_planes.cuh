// The work of the kernel that computes C = alpha * op(A) * op(B) + beta * C from planes of FP16
// (device/planes.cuh).
#pragma once

// Elements of K after which the sums of high * high are promoted: 32 or 64, a k_tile.
#ifndef PROMOTE_K
#define PROMOTE_K 64
#endif

#include "grid_dependency.cuh"
#include "plane_pipeline.cuh"
#include "scale_alone.cuh"
#include "scaled_epilogue.cuh"
#include "sync.cuh"
#include "tma.cuh"
#include "wgmma.cuh"

#ifdef __CUDACC__

namespace autotune_device {

// Copies of the last k_tile read up to 256 rows behind an operand's planes, and do not use them.
constexpr int kSlack = 256 * kRowBytes;

// Sets sums to those of a work tile's k_tiles, of which the planes have one product each. While the
// tensor cores compute a k_tile, the copies of the next one arrive. All consumer threads call this.
__device__ __forceinline__ void accumulate_one_product(const Pipeline& pipeline,
                                                       PipelineState& state, unsigned k_tiles,
                                                       float (&sums)[kSums]) {
  static_assert(PRODUCTS != 1 || PROMOTE_K == kPlaneK, "a call multiplies a k_tile");
  const unsigned own_a = threadIdx.x / 128 * 64 * kRowBytes;
#pragma unroll
  for (int i = 0; i < kSums; ++i) sums[i] = 0;
  pin(sums);
  unsigned last = 0;  // stage of the k_tile before
#pragma unroll 1
  for (unsigned k_tile = 0; k_tile < k_tiles; ++k_tile) {
    const unsigned stage = state.stage;
    pipeline.wait_full(state);
    state.next();
    pin(sums);
    wgmma_fence();
    wgmma(sums, matrix_descriptor(pipeline.a(stage) + own_a), matrix_descriptor(pipeline.b(stage)),
          1);
    wgmma_commit();
    wgmma_wait<1>();  // for the k_tile before
    if (k_tile > 0) pipeline.release(last);
    last = stage;
  }
  wgmma_wait<0>();
  pin(sums);
  pipeline.release(last);
}

// The same with three products. The sums of high * high are promoted after PROMOTE_K
// elements of K, while the tensor cores compute the corrections.
__device__ __forceinline__ void accumulate_with_corrections(const Pipeline& pipeline,
                                                            PipelineState& state, unsigned k_tiles,
                                                            float (&sums)[kSums]) {
  static_assert(kStages > 2, "a k_tile's first plane arrives before the last one is released");
  const unsigned own_a = threadIdx.x / 128 * 64 * kRowBytes;
  float high[kSums], corrections[kSums];
#pragma unroll
  for (int i = 0; i < kSums; ++i) sums[i] = corrections[i] = 0;
  pin(corrections);
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
    unsigned long long next_a[kPlanes], next_b[kPlanes];  // of the other planes
#pragma unroll
    for (int k = 0; k < kPlaneK; k += PROMOTE_K) {
      const int along = k * 2 / 16;  // as descriptors count
      pin(high);
      wgmma_fence();
      wgmma(high, high_a + along, high_b + along, 0);
      wgmma_commit();
      wgmma_wait<1>();  // for the corrections before
      if (k == 0) {
        if (k_tile > 0) release_last();
        last = first;
      }
#pragma unroll
      for (int plane = 1; plane < kPlanes; ++plane) {
        if (k == 0) {
          const unsigned stage = state.stage;
          pipeline.wait_full(state);
          state.next();
          next_a[plane] = matrix_descriptor(pipeline.a(stage) + own_a);
          next_b[plane] = matrix_descriptor(pipeline.b(stage));
        }
        const unsigned long long a = next_a[plane] + along;
        const unsigned long long b = next_b[plane] + along;
        wgmma(corrections, a, high_b + along, 1);
        wgmma(corrections, high_a + along, b, 1);
        wgmma_commit();
      }
      wgmma_wait<1>();  // for high * high
      pin(high);
#pragma unroll
      for (int i = 0; i < kSums; ++i) sums[i] += high[i];
    }
  }
  wgmma_wait<0>();
  pin(corrections);
  release_last();
#pragma unroll
  for (int i = 0; i < kSums; ++i) sums[i] = fmaf(corrections[i], kLowScale, sums[i]);
}

// Sets sums to those of a work tile's k_tiles. All consumer threads call this.
__device__ __forceinline__ void accumulate(const Pipeline& pipeline, PipelineState& state,
                                           unsigned k_tiles, float (&sums)[kSums]) {
  if constexpr (PRODUCTS == 1) {
    accumulate_one_product(pipeline, state, k_tiles, sums);
  } else {
    accumulate_with_corrections(pipeline, state, k_tiles, sums);
  }
}

using TileSums = ClusterSums<kConsumers, kTileN>;
static_assert(CLUSTER_K == 1 || TileSums::kBytes <= kStages * kStage, "");

// Computes C. All threads of any number of clusters of CLUSTER blocks of kThreads threads call
// this, or of one cluster of CLUSTER_K blocks for each tile. There are kStages * kStage + kExchange
// bytes of dynamic shared memory.
__device__ __forceinline__ void multiply_planes(const float* __restrict__ a,
                                                const float* __restrict__ b, float* __restrict__ c,
                                                long long m, long long n, long long k,
                                                long long lda, long long ldb, long long ldc,
                                                Scalar alpha, Scalar beta,
                                                float* __restrict__ workspace, unsigned raster,
                                                void* prepared_a, void* prepared_b) {
  extern __shared__ __align__(1024) unsigned char shared[];
  __shared__ Barrier barriers[2 * kStages];
  [[maybe_unused]] __shared__ int flags[WARPGROUPS];
  if (scales_alone(alpha, beta, c, m, n, k, ldc, {1, 0, 0, 0, 0})) return;
  const Pipeline pipeline{shared_address(shared), barriers, barriers + kStages};
  if (threadIdx.x == 0) pipeline.init();
  const OperandPlanes planes(workspace + kWorkspaceCounters, prepared_a, prepared_b, m, n, k);
  const TileGrid grid{static_cast<unsigned>((m - 1) / (CLUSTER * kTileM) + 1),
                      static_cast<unsigned>((n - 1) / kTileN + 1), raster};
  const WorkPartition partition(grid.along_m * grid.along_n, planes.a.k_tiles);
  WorkTiles work_tiles(partition);
  cluster_sync();
  griddep_wait(static_cast<int>(partition.clusters));
  if (threadIdx.x >= kConsumers) {
    warpgroup_reg_dealloc<kCopyRegisters>();
    if (threadIdx.x == kConsumers) producer_load(pipeline, planes.a, planes.b, work_tiles, grid);
    if (CLUSTER_K > 1) {
      __syncwarp();
      cluster_sync();  // the consumers' (ClusterSums)
    }
  } else {
    warpgroup_reg_alloc<kRegisters>();
    constexpr int kStoredN = CLUSTER_K > 1 ? TileSums::kStoredN : kTileN;
    static_assert(sizeof(ExchangedColumn) * kConsumers == kExchange, "");
    const ScaledEpilogue<kStoredN> epilogue{
        a,
        b,
        c,
        static_cast<int>(m),
        static_cast<int>(n),
        static_cast<int>(k),
        lda,
        ldb,
        ldc,
        value_of(alpha),
        value_of(beta),
        planes.a.words,
        planes.b.words,
        reinterpret_cast<ExchangedColumn*>(shared + kStages * kStage)};
    PipelineState state;
    WorkTile work;
    while (work_tiles.next(work)) {
      int row, column;
      grid.place(work.tile, kTileM, kTileN, row, column);
      float sums[kSums];
#if CLUSTER_K > 1
      accumulate(pipeline, state, work.end - work.begin, sums);
      const TileSums cluster_sums{shared_address(shared)};
      cluster_sums.put(shared, sums);
      cluster_sync();
      cluster_sums.store(epilogue, row, column);
#else
      // Ahead, unless the sums and descriptors leave no registers for the words.
      constexpr int kAllSums = (PRODUCTS == 1 ? 1 : 3) * kSums;
      constexpr bool kLoadsAhead = kRegisters >= kAllSums + 40;
      ScaledEpilogue<kStoredN>::Words words;
      if (kLoadsAhead) words = epilogue.load_words(row, column);
      accumulate(pipeline, state, work.end - work.begin, sums);
      if (!kLoadsAhead) words = epilogue.load_words(row, column);
      float* const parts = reinterpret_cast<float*>(static_cast<char*>(planes.end) + kSlack);
      if (work.end - work.begin == partition.k_tiles ||
          add_parts<WARPGROUPS, 128>(reinterpret_cast<int*>(workspace), parts, partition, work.tile,
                                     flags, sums)) {
        epilogue.store(sums, words, row, column);
      }
#endif
    }
  }
  // The other blocks may still send data, or read this one's sums.
  if (CLUSTER * CLUSTER_K > 1) cluster_sync();
}

}  // namespace autotune_device

#endif
