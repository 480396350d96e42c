// gemm_fp16x3 and gemm_fp16x1: C = alpha * op(A) * op(B) + beta * C by three products of FP16, or
// one, on the tensor cores of compute capability 9.0. Three have the accuracy of FP32; one, with
// MATH_TF32, has that of operands rounded to TF32: FP16 has the 11 significant bits of TF32 and
// twice its rate, and its range is made up for by scaling.
//
// A launch of its own, PREPARE_KERNEL, scales the operands and splits or rounds them to planes in
// the workspace (device/split_planes.cuh), but for those that were prepared before. With three
// products a tile of C is then
//   sum of high * high + 2^-12 * (sum of high * low + sum of low * high);
// low * low is left out. The tensor cores truncate sums, so that the error of high * high would
// grow with K. Its sums are therefore promoted after each k_tile of 64: they are added to others in
// FP32. Where K is less than 256, the template has them promoted after 32 (PROMOTE_K): a chain of
// FP32 has few roundings there. Where K is less than 128, uneven rows are left to FFMA, too. The
// corrections have sums of their own, which are 2^-12 as large and are added once. While the tensor
// cores compute the corrections, the other units promote the sums of high * high.
//
// With one product a tile is the sum of products of the planes. Each 16 elements of K may cost 10
// units in the last place, so that the error stays within FP32's own bound of K units. Nothing is
// promoted, and all registers are there for larger tiles.
//
// One producer thread copies pieces of the planes to a ring of buffers; each group of four consumer
// warps computes 64 rows of the tile. Buffers are handed over as in gemm_tma. Blocks are
// persistent. Clusters of blocks divide the k_tiles of all tiles evenly where there are at least as
// many clusters as tiles; otherwise they take whole tiles in turn and share the last ones where
// that pays. The parts of a shared tile are added in the order of K by the cluster that arrives
// last. With CLUSTER_K above 1 there is a cluster for each tile instead, whose blocks have a part
// of K each and add their sums through shared memory, in the order of K too.
//
// Zeros beyond K change no bit, since each row has zeros there in all planes. Results of rows and
// columns that have an infinity or NaN, or many elements too small for the planes, are computed
// with FFMA, from the operands themselves.
//
// Matrices are row-major with leading dimensions in elements; 1 <= m, n < 2^31, k < 2^21.
// Launch: kThreads threads and kStages * kStage + kExchange bytes of dynamic shared memory; any
// number of clusters up to the k_tiles of all tiles, or one for each tile with CLUSTER_K above 1.
// workspace: behind the counters the planes of A, those of B, a piece of memory that is read and
// not used (see kSlack), and two parts of a tile for each block. All code is for sm_90a alone.

// Columns of the tile: 64, 80, 96, 112 or 128 with three products; 64, 128, 192 or 256 with one.
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

// Blocks of a cluster that split K of one tile: 1, 2, 4 or 8; above 1 CLUSTER and MIN_BLOCKS
// are 1.
#ifndef CLUSTER_K
#define CLUSTER_K 1
#endif

// Blocks of an SM that the compiler leaves registers for, and that share its memory: 1 or 2.
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 1
#endif

#ifndef MATH_TF32
#define MATH_TF32 0
#endif

#if MATH_TF32
#define PRODUCTS 1
#define PREPARE_KERNEL gemm_fp16x1_prepare
#define MULTIPLY_KERNEL gemm_fp16x1
#else
#define PRODUCTS 3
#define PREPARE_KERNEL gemm_fp16x3_prepare
#define MULTIPLY_KERNEL gemm_fp16x3
#endif

#include "device/multiply_planes.cuh"
#include "device/split_planes.cuh"

// Splits the operands that `prepares` names. Blocks along x, of 128 or 256 threads.
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
