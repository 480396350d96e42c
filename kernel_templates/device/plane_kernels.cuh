// The two kernels of a template that multiplies planes: PREPARE_KERNEL splits the operands,
// MULTIPLY_KERNEL computes C. The template's file defines both names.
#pragma once

#include "multiply_planes.cuh"
#include "split_planes.cuh"

// Blocks along x: those of the operands that `prepares` names, of 128 or 256 threads.
extern "C" __global__ void
#if TRANSPOSE_A || !TRANSPOSE_B
__cluster_dims__(autotune_device::kSplitBlocks, 1, 1)
#endif
    __launch_bounds__(autotune_device::kSplitThreads, PRODUCTS == 3 ? 5 : 4)
        PREPARE_KERNEL(const float* __restrict__ a, const float* __restrict__ b, float*,
                       long long m, long long n, long long k, long long lda, long long ldb,
                       long long, autotune_device::Scalar, autotune_device::Scalar,
                       float* workspace, unsigned, void* prepared_a, void* prepared_b,
                       unsigned prepares) {
  autotune_device::split_operands(a, b, m, n, k, lda, ldb, workspace, prepared_a, prepared_b,
                                  prepares);
}

extern "C" __global__ void
#if CLUSTER * CLUSTER_K > 1
__cluster_dims__(CLUSTER* CLUSTER_K, 1, 1)
#endif
    __launch_bounds__(autotune_device::kThreads, MIN_BLOCKS)
        MULTIPLY_KERNEL(const float* __restrict__ a, const float* __restrict__ b,
                        float* __restrict__ c, long long m, long long n, long long k, long long lda,
                        long long ldb, long long ldc, autotune_device::Scalar alpha,
                        autotune_device::Scalar beta, float* __restrict__ workspace,
                        unsigned raster, void* prepared_a, void* prepared_b, unsigned) {
  autotune_device::multiply_planes(a, b, c, m, n, k, lda, ldb, ldc, alpha, beta, workspace, raster,
                                   prepared_a, prepared_b);
}
