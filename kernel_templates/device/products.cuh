// Where a thread's results lie, and how it multiplies what it has read. Of the including kernel:
// SideM, SideN, FragmentA and FragmentB.

// Where a thread's results lie in the block's tile. Lanes alternate between the sides, so that
// neighbours read the same elements of A, and neighbours but one the same of B: shared memory then
// serves 16 lanes at a time instead of 8.
struct Position {
  int slice;
  int row;     // the first, in the tile
  int column;  // likewise

  __device__ __forceinline__ Position() {
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
    row = (warp / WARPS_N % WARPS_M) * LANES_M * THREAD_M + lane_m * SideM::kChunk;
    column = warp % WARPS_N * kLanesN * THREAD_N + lane_n * SideN::kChunk;
  }
};

using Sums = float[THREAD_M][THREAD_N];

// Adds the products for one k.
__device__ __forceinline__ void multiply(const FragmentA& a, const FragmentB& b, int k,
                                         Sums& sums) {
  constexpr bool kByColumns = ORDER % 2 == 1;
  constexpr int kOuter = kByColumns ? THREAD_N : THREAD_M;
  constexpr int kAll = kByColumns ? THREAD_M : THREAD_N;
  constexpr int kInner = ORDER < 2 ? kAll : least(kAll, ORDER < 4 ? 4 : 2);
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
        sums[i][j] =
            fmaf(a.at[k % FragmentA::kDepth][i], b.at[k % FragmentB::kDepth][j], sums[i][j]);
      }
    }
  }
}
