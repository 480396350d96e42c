// Synchronization of a block's threads, and of blocks through counters in global memory. Each
// operation has a counterpart in plain C++ for the CPU device, which runs one thread of a block at
// a time.
#pragma once

#include "vector.cuh"

namespace autotune_device {

// The first words of the workspace are counters, which are 0 between launches.
constexpr int kWorkspaceCounters = 1 << 16;

#ifdef __CUDACC__

// Atomically increments *counter and returns its old value (acquire-release, gpu scope). Writes
// before an increment are visible after every later one.
__device__ __forceinline__ int atomic_increment(int* counter) {
  int before;
  asm volatile("atom.add.acq_rel.gpu.global.s32 %0, [%1], 1;"
               : "=r"(before)
               : "l"(counter)
               : "memory");
  return before;
}

// Loads kCount elements that another block may have written, from the L2 cache.
template <int kCount, typename T>
__device__ __forceinline__ Vector<T, kCount> load_from_l2(const T* from) {
  Vector<T, kCount> v;
  if constexpr (kCount == 4 && sizeof(T) == 4) {
    asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.at[0]), "=f"(v.at[1]), "=f"(v.at[2]), "=f"(v.at[3])
                 : "l"(from));
  } else {
#pragma unroll
    for (int e = 0; e < kCount; ++e) v.at[e] = __ldcg(from + e);
  }
  return v;
}

#else

__device__ __forceinline__ int atomic_increment(int* counter) {
  return __atomic_fetch_add(counter, 1, __ATOMIC_ACQ_REL);
}
template <int kCount, typename T>
__device__ __forceinline__ Vector<T, kCount> load_from_l2(const T* from) {
  return load_vector<kCount>(from);
}

#endif

// Waits until all lanes of the warp have arrived; their writes to shared memory are then visible to
// each other. All threads of the block call this together, since the CPU device knows no warps.
__device__ __forceinline__ void sync_warp() {
#ifdef __CUDACC__
  __syncwarp();
#else
  __syncthreads();
#endif
}

// The threads of a block that compute: the first kThreads of it. kWholeBlock: there are no others.
// All threads of the group call its functions together.
template <int kThreads, bool kWholeBlock>
struct ThreadGroup {
  // Waits until all threads of the group have arrived.
  static __device__ __forceinline__ void sync() {
#ifdef __CUDACC__
    if constexpr (!kWholeBlock) {
      asm volatile("bar.sync 1, %0;" ::"n"(kThreads) : "memory");
      return;
    }
#endif
    __syncthreads();
  }

  // Waits as sync() does and returns whether `own` is true for any thread of the group.
  static __device__ __forceinline__ bool any(bool own) {
#ifdef __CUDACC__
    if constexpr (!kWholeBlock) {
      int any;
      asm volatile(
          "{\n"
          ".reg .pred own, any;\n"
          "setp.ne.s32 own, %1, 0;\n"
          "bar.red.or.pred any, 1, %2, own;\n"
          "selp.s32 %0, 1, 0, any;\n"
          "}"
          : "=r"(any)
          : "r"(static_cast<int>(own)), "n"(kThreads)
          : "memory");
      return any != 0;
    }
    return __syncthreads_or(own) != 0;
#else
    __shared__ int all[1];
    __syncthreads();
    if (threadIdx.x == 0) all[0] = 0;
    __syncthreads();
    if (own) all[0] = 1;
    __syncthreads();
    return all[0] != 0;
#endif
  }

  // Counts this block as arrived and returns whether it is the last of `expected` blocks. The last
  // block sees what the others wrote to global memory before they arrived, and resets the counter.
  static __device__ __forceinline__ bool arrives_last(int* counter, int expected) {
    sync();
    bool last = false;
    if (threadIdx.x == 0) {
      last = atomic_increment(counter) + 1 == expected;
      if (last) *counter = 0;
    }
    return any(last);
  }
};

}  // namespace autotune_device
