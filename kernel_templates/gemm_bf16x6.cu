// gemm_bf16x6: C = alpha * op(A) * op(B) + beta * C with the accuracy of FP32 for operands of a
// wide range, by six products of BF16 on the tensor cores of compute capability 9.0.
//
// The kernel is that of gemm_fp16x3 but for its planes: an element is the sum of three of BF16,
// which have FP32's range and together its 24 bits (device/planes.cuh). A tile of C is
//   sum of high * high + (sum of high * middle + sum of middle * high + sum of middle * middle +
//                         sum of high * low + sum of low * high);
// the other products, up to 2^-25 as large each, are left out. The sums of high * high are promoted
// after each k_tile of 64; the corrections, up to 2^-7 as large, are added once.
//
// Results of rows and columns that have an infinity or NaN, or many elements smaller than 2^-98 of
// the greatest magnitude, are computed with FFMA, from the operands themselves.
//
// Matrices are row-major with leading dimensions in elements; 1 <= m, n < 2^31, k < 2^21. Launch
// and workspace are those of gemm_fp16x3. All code is for sm_90a alone.

// Columns of the tile: 64 or 128.
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

#define PRODUCTS 6
#define PREPARE_KERNEL gemm_bf16x6_prepare
#define MULTIPLY_KERNEL gemm_bf16x6
#include "device/plane_kernels.cuh"
