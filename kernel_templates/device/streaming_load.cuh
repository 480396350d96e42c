// Loads of elements that a launch reads once.
#pragma once

#include "vector.cuh"

namespace autotune_device {

#ifdef __CUDACC__

using CachePolicy = unsigned long long;

// Returns the policy for loads that the L2 cache keeps for kPercent of the addresses.
template <int kPercent>
__device__ __forceinline__ CachePolicy l2_persist_policy() {
  CachePolicy policy = 0;
  if (kPercent > 0) {
    asm("createpolicy.fractional.L2::evict_last.L2::evict_first.b64 %0, %1;"
        : "=l"(policy)
        : "f"(kPercent / 100.0f));
  }
  return policy;
}

// Loads kCount FP32 elements that this launch does not need again. The address must be a multiple
// of their size, policy that of l2_persist_policy<kPercent>().
template <int kCount, int kPercent>
__device__ __forceinline__ Vector<float, kCount> load_once(const float* from, CachePolicy policy) {
  Vector<float, kCount> v;
  if constexpr (kCount == 4 && kPercent > 0) {
    asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=f"(v.at[0]), "=f"(v.at[1]), "=f"(v.at[2]), "=f"(v.at[3])
                 : "l"(from), "l"(policy));
  } else if constexpr (kCount == 4) {
    asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.at[0]), "=f"(v.at[1]), "=f"(v.at[2]), "=f"(v.at[3])
                 : "l"(from));
  } else if constexpr (kCount == 2) {
    asm volatile("ld.global.nc.L1::no_allocate.v2.f32 {%0, %1}, [%2];"
                 : "=f"(v.at[0]), "=f"(v.at[1])
                 : "l"(from));
  } else {
    v.at[0] = __ldg(from);  // its neighbours are needed soon
  }
  return v;
}

#else

using CachePolicy = int;
template <int kPercent>
__device__ __forceinline__ CachePolicy l2_persist_policy() {
  return 0;
}
template <int kCount, int kPercent>
__device__ __forceinline__ Vector<float, kCount> load_once(const float* from, CachePolicy) {
  return load_vector<kCount>(from);
}

#endif

}  // namespace autotune_device
