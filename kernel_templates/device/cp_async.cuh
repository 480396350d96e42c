// Asynchronous copies from global to shared memory (cp.async, compute capability 8.0). On the CPU
// device they are ordinary copies.
#pragma once

#include "vector.cuh"

namespace autotune_device {

#ifdef __CUDACC__

// Starts to copy kCount elements: 4, 8 or 16 bytes, aligned to their size. Copies of 16 bytes
// bypass the L1 cache unless kThroughL1 is set.
template <int kCount, bool kThroughL1 = false, typename T>
__device__ __forceinline__ void cp_async(T* to, const T* from) {
  constexpr int kBytes = kCount * sizeof(T);
  const auto shared = static_cast<unsigned>(__cvta_generic_to_shared(to));
  if constexpr (kBytes == 16 && !kThroughL1) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from));
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(from), "n"(kBytes));
  }
}

// Ends a group: the copies that this thread has started since the previous group.
__device__ __forceinline__ void cp_async_commit() {
  asm volatile("cp.async.commit_group;");
}

// Waits until at most the newest kPending groups of this thread are incomplete.
template <int kPending>
__device__ __forceinline__ void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending));
}

// Waits until all copies of this thread are complete.
__device__ __forceinline__ void cp_async_wait_all() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

#else

template <int kCount, bool kThroughL1 = false, typename T>
__device__ __forceinline__ void cp_async(T* to, const T* from) {
  store_vector<kCount>(to, load_vector<kCount>(from));
}
__device__ __forceinline__ void cp_async_commit() {}
template <int kPending>
__device__ __forceinline__ void cp_async_wait() {}
__device__ __forceinline__ void cp_async_wait_all() {}

#endif

}  // namespace autotune_device
