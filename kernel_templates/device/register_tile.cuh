// The tile of C that a block computes in registers: the part of it that each warp and each lane
// has, and how a lane multiplies.
#pragma once

#include "element.cuh"
#include "sync.cuh"
#include "tile_parameters.cuh"
#include "vector.cuh"

namespace autotune_device {

constexpr int kLanesN = 32 / LANES_M;
constexpr int kTileM = WARPS_M * LANES_M * RESULTS_M;
constexpr int kTileN = WARPS_N * kLanesN * RESULTS_N;
constexpr int kSliceThreads = 32 * WARPS_M * WARPS_N;
constexpr int kThreads = kSliceThreads * SLICE_K;  // that compute
constexpr int kSliceK = BLOCK_K / SLICE_K;
constexpr int kStepK = minimum(UNROLL, kSliceK);
constexpr int kThreadResults = RESULTS_M * RESULTS_N;
constexpr int kSliceResults = kThreadResults / SLICE_K;  // of a thread after the slices are added
constexpr int kBlockResults = kSliceResults / CLUSTER;   // and after the cluster's blocks are added
constexpr int kVectorElements = 16 / sizeof(Accumulator);  // of one vector
static_assert(sizeof(ElementA) == sizeof(Accumulator) && sizeof(ElementB) == sizeof(Accumulator) &&
                  sizeof(ElementC) == sizeof(Accumulator),
              "operands, sums and results share memory and vectors");

using ComputeThreads = ThreadGroup<kThreads, COPY_THREADS == 0>;

// The places of a lane's results along one side of the block's tile: kResults results in chunks of
// kChunk neighbours, where the chunks of kLanes lanes lie side by side. An operand that shared
// memory keeps K-major is read row by row, and 8 lanes access different banks when their rows are
// neighbours; hence chunks of one.
template <int kResults, int kLanes, bool kSharedKMajor>
struct Side {
  static constexpr int kChunk = kSharedKMajor ? 1 : minimum(kResults, kVectorElements);

  // Returns the distance of result i from the lane's first result.
  static __device__ __forceinline__ int offset(int i) {
    return i / kChunk * kLanes * kChunk + i % kChunk;
  }
};

// The elements of one operand that a lane multiplies next: of one k, or of a vector of k where
// shared memory keeps the operand K-major. Operand has the type Element, the constant kSharedKMajor
// and the function shared_offset(row, k).
template <typename Operand, typename Side, int kResults>
struct LaneFragment {
  static constexpr int kDepth = Operand::kSharedKMajor ? kVectorElements : 1;
  typename Operand::Element at[kDepth][kResults];

  // Loads the elements for k and the following ones of the fragment; does nothing unless k begins a
  // fragment. own: the lane's first element of the current step in shared memory.
  __device__ __forceinline__ void load(const typename Operand::Element* own, int k) {
    if (k % kDepth != 0) return;
    constexpr int kChunk = Side::kChunk;
#pragma unroll
    for (int i = 0; i < kResults; i += kChunk) {
      const auto v = load_vector<kDepth * kChunk>(own + Operand::shared_offset(Side::offset(i), k));
#pragma unroll
      for (int e = 0; e < kDepth * kChunk; ++e) at[e % kDepth][i + e / kDepth] = v.at[e];
    }
  }
};

// The slice of this thread and the place of its first result in the block's tile. Neighbouring
// lanes alternate between the sides: neighbours read the same elements of A, and every second lane
// the same elements of B, so that shared memory serves 16 lanes at a time instead of 8.
template <typename SideM, typename SideN>
struct LanePosition {
  int slice;
  int row;
  int column;

  __device__ __forceinline__ LanePosition() {
    const int lane = threadIdx.x % 32;
    int lane_m = 0;
    int lane_n = 0;
    int bit = 0;
#pragma unroll
    for (int side = 1; side < 32; side *= 2) {
      if (side < kLanesN) lane_n += (lane >> bit++ & 1) * side;
      if (side < LANES_M) lane_m += (lane >> bit++ & 1) * side;
    }
    const int warp = threadIdx.x / 32;
    slice = warp / (WARPS_M * WARPS_N);
    row = (warp / WARPS_N % WARPS_M) * LANES_M * RESULTS_M + lane_m * SideM::kChunk;
    column = warp % WARPS_N * kLanesN * RESULTS_N + lane_n * SideN::kChunk;
  }
};

using Sums = Accumulator[RESULTS_M][RESULTS_N];

// Adds the products of one k to the lane's sums, in the sequence that ORDER selects.
template <typename FragmentA, typename FragmentB>
__device__ __forceinline__ void multiply(const FragmentA& a, const FragmentB& b, int k,
                                         Sums& sums) {
  constexpr bool kByColumns = ORDER % 2 == 1;
  constexpr int kOuter = kByColumns ? RESULTS_N : RESULTS_M;
  constexpr int kAll = kByColumns ? RESULTS_M : RESULTS_N;
  constexpr int kInner = ORDER < 2 ? kAll : minimum(kAll, ORDER < 4 ? 4 : 2);
#pragma unroll
  for (int piece = 0; piece < kAll; piece += kInner) {
#pragma unroll
    for (int o = 0; o < kOuter; ++o) {
#pragma unroll
      for (int step = 0; step < kInner; ++step) {
        const int outer = piece / kInner % 2 == 0 ? o : kOuter - 1 - o;
        const int inner = piece + (o % 2 == 0 ? step : kInner - 1 - step);
        const int i = kByColumns ? inner : outer;
        const int j = kByColumns ? outer : inner;
        sums[i][j] = multiply_add(a.at[k % FragmentA::kDepth][i], b.at[k % FragmentB::kDepth][j],
                                  sums[i][j]);
      }
    }
  }
}

}  // namespace autotune_device
