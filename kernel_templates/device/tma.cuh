// Copies by the Tensor Memory Accelerator and what belongs to warp-specialized kernels (compute
// capability 9.0). Plain C++ compilers see an empty header.
#pragma once

#include "barrier.cuh"

// CUDA before 12.9 defines the second macro alone, for compute capability 9.0.
#if defined(__CUDA_ARCH_SPECIFIC__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define REALLOCATES_REGISTERS
#endif

namespace autotune_device {

// The driver's description of an operand in memory (CUtensorMap).
struct alignas(64) TensorMap {
  unsigned long long words[16];
};

#ifdef __CUDACC__

// Starts to copy the map's box from this column and row of the matrix on; the bytes count towards
// the barrier. One thread calls this.
template <typename T>
__device__ __forceinline__ void tma_load_box(T* to, const TensorMap& map, int column, int row,
                                             Barrier* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(to)),
      "l"(&map), "r"(column), "r"(row), "r"(shared_address(barrier))
      : "memory");
}

// The same for a map of several matrices.
template <typename T>
__device__ __forceinline__ void tma_load_box(T* to, const TensorMap& map, int column, int row,
                                             int matrix, Barrier* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(shared_address(to)),
      "l"(&map), "r"(column), "r"(row), "r"(matrix), "r"(shared_address(barrier))
      : "memory");
}

// Returns the policy of copies that the L2 cache need not keep.
__device__ __forceinline__ unsigned long long evict_first_policy() {
  unsigned long long policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

// tma_load_box() for a map of several matrices where kBatched, with a policy of the L2 cache. One
// thread calls this.
template <bool kBatched, typename T>
__device__ __forceinline__ void tma_load_box_by(unsigned long long policy, T* to,
                                                const TensorMap& map, int column, int row,
                                                int matrix, Barrier* barrier) {
  if constexpr (kBatched) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
        ".L2::cache_hint [%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(shared_address(to)),
        "l"(&map), "r"(column), "r"(row), "r"(matrix), "r"(shared_address(barrier)), "l"(policy)
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
        ".L2::cache_hint [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared_address(to)),
        "l"(&map), "r"(column), "r"(row), "r"(shared_address(barrier)), "l"(policy)
        : "memory");
  }
}

// tma_load_box() for a map of several matrices where kBatched, to the same place in each of the
// first kBlocks blocks of the cluster, at whose barriers the bytes count. One thread calls this.
template <int kBlocks, bool kBatched, typename T>
__device__ __forceinline__ void tma_multicast_box(T* to, const TensorMap& map, int column, int row,
                                                  int matrix, Barrier* barrier) {
  constexpr unsigned short kAll = (1 << kBlocks) - 1;
  if constexpr (kBatched) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(shared_address(to)),
        "l"(&map), "r"(column), "r"(row), "r"(matrix), "r"(shared_address(barrier)), "h"(kAll)
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared_address(to)),
        "l"(&map), "r"(column), "r"(row), "r"(shared_address(barrier)), "h"(kAll)
        : "memory");
  }
}

// Starts to load the map itself, for copies that follow. It may be called before griddep_wait():
// a map is an argument.
__device__ __forceinline__ void prefetch_map(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// Orders this thread's earlier reads of shared memory before later writes by TMA.
__device__ __forceinline__ void fence_proxy_async() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Starts to copy one 32-bit element, or writes 0 unless is_there. Source and target lie kFrom and
// kTo bytes behind `from` and `to`; the instruction adds these constants at no cost.
template <int kTo, int kFrom, typename T>
__device__ __forceinline__ void cp_async_zfill(unsigned to, const T* from, bool is_there) {
  asm volatile("cp.async.ca.shared.global [%0 + %3], [%1 + %4], 4, %2;" ::"r"(to), "l"(from),
               "r"(is_there ? 4 : 0), "n"(kTo), "n"(kFrom));
}

// The same where the element is there.
template <int kTo, int kFrom, typename T>
__device__ __forceinline__ void cp_async_word(unsigned to, const T* from) {
  asm volatile("cp.async.ca.shared.global [%0 + %2], [%1 + %3], 4;" ::"r"(to), "l"(from), "n"(kTo),
               "n"(kFrom));
}

// Reduce or raise the registers of each thread to kCount; raising waits until they are free. All
// warps of a group of four call this. Only code for one architecture alone can reallocate
// registers: other code keeps those that it started with.
template <int kCount>
__device__ __forceinline__ void warpgroup_reg_dealloc() {
#ifdef REALLOCATES_REGISTERS
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCount));
#endif
}
template <int kCount>
__device__ __forceinline__ void warpgroup_reg_alloc() {
#ifdef REALLOCATES_REGISTERS
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kCount));
#endif
}

#endif

}  // namespace autotune_device
