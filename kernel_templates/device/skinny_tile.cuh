// Where the lanes of gemm_skinny's warps are in a block's tile, and how much of K they take. The
// macros are the parameters of gemm_skinny.cu.
#pragma once

#include "element.cuh"
#include "operand_rows.cuh"
#include "sync.cuh"
#include "vector.cuh"

namespace autotune_device {

#if FEW_SIDE == 0
using ElementFew = ElementA;
using ElementMany = ElementB;
#else
using ElementFew = ElementB;
using ElementMany = ElementA;
#endif
static_assert(sizeof(ElementFew) == sizeof(ElementMany) && sizeof(Accumulator) == 4,
              "both operands have elements of 4 or of 2 bytes");

constexpr bool kKMajor =
    FEW_SIDE == 0 ? TRANSPOSE_B : !TRANSPOSE_A;  // the large operand, in memory
constexpr bool kFewKMajor = FEW_SIDE == 0 ? !TRANSPOSE_A : TRANSPOSE_B;
constexpr int kThreads = 32 * WARPS * SLICE_K;
constexpr int kAcross = 32 / LANES_K;  // lanes of a warp side by side
constexpr int kBlockRows = WARPS * LINES * kAcross;
constexpr int kTile = FEW * kBlockRows;
constexpr int kInWord = 4 / static_cast<int>(sizeof(ElementMany));  // elements
// Rows of the large operand that a lane has side by side.
constexpr int kNeighbours = kKMajor ? 1 : minimum(LINES, 4 * kInWord);
// Elements of K that a warp takes at a time, and those that the block does.
constexpr int kBatch = UNROLL * kInWord * LANES_K;
constexpr int kStep = SLICE_K * kBatch;

// Returns the distance of a lane's row from its first row.
__device__ constexpr int row_offset(int row) {
  return row / kNeighbours * kAcross * kNeighbours + row % kNeighbours;
}

using Sums = Accumulator[FEW][LINES];

// How the products are added to the sums, for elements of kBytes. It has accumulate(), which adds
// those of a part of K, and kSharedWords of shared memory for it.
template <typename Few, typename Many, int kBytes = static_cast<int>(sizeof(Many))>
struct Products;

}  // namespace autotune_device
