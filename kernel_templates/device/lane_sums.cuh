// Sums over the lanes of a warp.
#pragma once

namespace autotune_device {

// Returns the value of the lane whose number differs in the bits of `mask`. All kThreads threads of
// the block call this together.
template <int kThreads, typename T>
__device__ __forceinline__ T shuffle_xor(T value, int mask) {
#ifdef __CUDACC__
  return __shfl_xor_sync(0xffffffff, value, mask);
#else
  __shared__ T all[kThreads];
  __syncthreads();
  all[threadIdx.x] = value;
  __syncthreads();
  return all[threadIdx.x ^ static_cast<unsigned>(mask)];
#endif
}

// Adds the values of lanes that differ in the bits from kSmallest to kOffset of their numbers,
// kCount values in each, by recursive halving: a lane keeps one half of its values and gives the
// other half to its partner, until every lane has one value, or several lanes the same value.
// `first` becomes the number of a lane's first value.
template <int kCount, int kOffset, int kSmallest, int kThreads, typename T>
__device__ __forceinline__ void add_lanes(T* values, int& first) {
  if constexpr (kOffset >= kSmallest) {
    const bool upper = threadIdx.x & kOffset;
    if constexpr (kCount > 1) {
#pragma unroll
      for (int i = 0; i < kCount / 2; ++i) {
        const T given = upper ? values[i] : values[i + kCount / 2];
        const T kept = upper ? values[i + kCount / 2] : values[i];
        values[i] = kept + shuffle_xor<kThreads>(given, kOffset);
      }
      if (upper) first += kCount / 2;
      add_lanes<kCount / 2, kOffset / 2, kSmallest, kThreads>(values, first);
    } else {
      values[0] += shuffle_xor<kThreads>(values[0], kOffset);
      add_lanes<1, kOffset / 2, kSmallest, kThreads>(values, first);
    }
  }
}

}  // namespace autotune_device
