// gemm_fp16x1: C = alpha * op(A) * op(B) + beta * C with the accuracy of operands that are rounded
// to TF32, by one product of FP16 on the tensor cores of compute capability 9.0. FP16 has the 11
// significant bits of TF32 and twice its rate; its range is made up for by scaling.
//
// A launch of its own, gemm_fp16x1_prepare, scales the operands and rounds them to planes in the
// workspace (device/split_planes.cuh), but for those that were prepared before. A tile of C is then
// the sum of products of the planes. The tensor cores truncate sums: each 16 elements of K may cost
// 10 units in the last place, so that the error stays within FP32's own bound of K units. Nothing
// is promoted, and all registers are there for larger tiles than those of gemm_fp16x3.
//
// One producer thread copies pieces of the planes to a ring of buffers; each group of four consumer
// warps computes 64 rows of the tile. Buffers are handed over as in gemm_tma. Blocks are
// persistent. Clusters of blocks divide the k_tiles of all tiles evenly where there are at least as
// many clusters as tiles; otherwise they take whole tiles in turn and share the last ones where
// that pays. The parts of a shared tile are added in the order of K by the cluster that arrives
// last. CLUSTER_K is that of gemm_fp16x3.
//
// Zeros beyond K change no bit, since each row has zeros there. Results of rows and columns that
// have an infinity or NaN, or many elements too small for the planes, are computed with FFMA, from
// the operands themselves.
//
// Matrices are row-major with leading dimensions in elements; 1 <= m, n < 2^31, k < 2^21.
// Launch: kThreads threads and kStages * kStage + kExchange bytes of dynamic shared memory; any
// number of clusters up to the k_tiles of all tiles, or one for each tile with CLUSTER_K above 1.
// workspace: behind the counters the plane of A, that of B, a piece of memory that is read and not
// used (see kSlack), and two parts of a tile for each block. All code is for sm_90a alone.

// Columns of the tile: 64, 128, 192 or 256.
#ifndef BLOCK_N
#define BLOCK_N 256
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

#define PRODUCTS 1
#define PREPARE_KERNEL gemm_fp16x1_prepare
#define MULTIPLY_KERNEL gemm_fp16x1
#include "device/plane_kernels.cuh"
