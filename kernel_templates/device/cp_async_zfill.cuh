// Asynchronous copies that store zeros in the place of what is not there.
#pragma once

#include "cp_async.cuh"

namespace autotune_device {

#ifdef __CUDACC__

// Starts to copy kCount elements as cp_async() does, or stores zeros and reads nothing.
template <int kCount, typename T>
__device__ __forceinline__ void cp_async_or_zero(T* to, const T* from, bool is_there) {
  constexpr int kBytes = kCount * sizeof(T);
  const auto shared = static_cast<unsigned>(__cvta_generic_to_shared(to));
  const int bytes = is_there ? kBytes : 0;
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(from),
                 "r"(bytes));
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(from),
                 "n"(kBytes), "r"(bytes));
  }
}

#else

template <int kCount, typename T>
__device__ __forceinline__ void cp_async_or_zero(T* to, const T* from, bool is_there) {
  store_vector<kCount>(to, is_there ? load_vector<kCount>(from) : Vector<T, kCount>{});
}

#endif

}  // namespace autotune_device
