// The parameters that kernels with register tiles have in common, as macros with defaults. A kernel
// whose own default is another one defines it before. Which values are searched, its .cpp says.
#pragma once

// Results of one lane along each side of the tile: 4, 8 or 16.
#ifndef RESULTS_M
#define RESULTS_M 8
#endif
#ifndef RESULTS_N
#define RESULTS_N 8
#endif

// Lanes of a warp along M: 4 or 8. The other lanes are along N.
#ifndef LANES_M
#define LANES_M 8
#endif

// Warps of a block (of one of its slices) that multiply, along each side: 1, 2, 4 or 8.
#ifndef WARPS_M
#define WARPS_M 2
#endif
#ifndef WARPS_N
#define WARPS_N 4
#endif

// Parts of each k_tile that different warps of the block multiply: 1, 2, 4 or 8.
#ifndef SLICE_K
#define SLICE_K 1
#endif

// Elements of K in a k_tile: 8, 16, 32, 64 or 128.
#ifndef BLOCK_K
#define BLOCK_K 16
#endif

// Buffers in shared memory, each for one k_tile: 2, 3, 4, 6 or 8.
#ifndef STAGES
#define STAGES 3
#endif

// Steps along K that the inner loop takes between two branches: 8 or 16, or as many as a slice has
// in a k_tile.
#ifndef UNROLL
#define UNROLL 8
#endif

// The order in which a lane adds the products of one k, back and forth so that neighbours share an
// operand. 0: row by row. 2 or 4: row by row in pieces of 4 or 2 columns. 1: column by column. 3 or
// 5: column by column in pieces of 4 or 2 rows. The compiler allocates registers accordingly, with
// more or fewer bank conflicts.
#ifndef ORDER
#define ORDER 0
#endif

// Blocks of an SM that the compiler must leave registers for.
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 1
#endif

// Blocks that share the work of one tile: 1, or with any larger value as many as the launch has for
// each tile. 0: the launch has as many blocks as run at once, which take whole tiles in turn and
// share the last ones evenly.
#ifndef SPLIT_K
#define SPLIT_K 1
#endif

// Neighbouring blocks of those that add their sums in each other's shared memory before they write
// to global memory: 1, or with compute capability 9.0 also 2.
#ifndef CLUSTER
#define CLUSTER 1
#endif

// Threads of the block behind those that multiply, which copy the operands. A property of the
// kernel, not tuned.
#ifndef COPY_THREADS
#define COPY_THREADS 0
#endif

// Given by the operands, not tuned. 1: pointers are multiples of 16 bytes; leading dimensions, and
// extents of matrices along them, are multiples of 4.
#ifndef ALIGNED
#define ALIGNED 0
#endif
