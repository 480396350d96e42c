// A block's tile of C, its warps' parts of it and its lanes' results. Of the including kernel: the
// parameters' macros. Of an operand type: kByLine, and place(line, k), where shared memory has an
// element, both as in gemm_simt.cu.
#include "vector.cuh"

constexpr int kLanesN = 32 / LANES_M;
constexpr int kTileM = WARPS_M * LANES_M * THREAD_M;
constexpr int kTileN = WARPS_N * kLanesN * THREAD_N;
constexpr int kSliceThreads = 32 * WARPS_M * WARPS_N;
constexpr int kThreads = kSliceThreads * SLICES;
constexpr int kSliceK = BLOCK_K / SLICES;
constexpr int kStepK = UNROLL < kSliceK ? UNROLL : kSliceK;
constexpr int kResults = THREAD_M * THREAD_N;
constexpr int kOfSlice = kResults / SLICES;   // a thread's results once the slices are added
constexpr int kOfBlock = kOfSlice / CLUSTER;  // and once the cluster's blocks are
constexpr int kCounters = 1 << 16;            // at the start of the scratch, zero between launches

// How a thread's results lie along one side of the block's tile: kResults of it, in pieces of
// kChunk neighbours; kLanes lanes have theirs side by side. An operand that is kept by line is read
// line after line, and 8 lanes hit different banks when their lines are neighbours.
template <int kResults, int kLanes, bool kByLine>
struct Side {
  static constexpr int kChunk = kByLine ? 1 : least(kResults, 4);
  // Of result i, from this thread's first.
  static __device__ __forceinline__ int offset(int i) {
    return i / kChunk * kLanes * kChunk + i % kChunk;
  }
};

// What a thread multiplies of one operand: for one k, or for four when it is kept by line.
template <typename Operand, typename Side, int kResults>
struct Fragment {
  static constexpr int kDepth = Operand::kByLine ? 4 : 1;
  float at[kDepth][kResults];

  // own: this thread's place for the first k of the step. Reads when k begins a fragment.
  __device__ __forceinline__ void load(const float* own, int k) {
    if (k % kDepth != 0) return;
    constexpr int kChunk = Side::kChunk;
#pragma unroll
    for (int i = 0; i < kResults; i += kChunk) {
      const auto v = read<kDepth * kChunk>(own + Operand::place(Side::offset(i), k));
#pragma unroll
      for (int e = 0; e < kDepth * kChunk; ++e) at[e % kDepth][i + e / kDepth] = v.at[e];
    }
  }
};
