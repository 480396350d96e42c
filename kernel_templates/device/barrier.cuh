// Barriers in shared memory that count arrivals and bytes (mbarrier, compute capability 9.0). They
// are for GPUs alone: plain C++ compilers see an empty header.
#pragma once

#ifdef __CUDACC__

namespace autotune_device {

using Barrier = unsigned long long;

// Returns an address in the shared memory window, as PTX instructions take it.
__device__ __forceinline__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Returns the address, in the shared memory of a block of the cluster, that corresponds to an own
// address.
__device__ __forceinline__ unsigned cluster_address(unsigned own, unsigned block) {
  unsigned address;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(own), "r"(block));
  return address;
}

// Initializes a barrier whose phases end after `arrivals` arrivals. One thread calls this.
__device__ __forceinline__ void init_barrier(Barrier* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(arrivals));
}

// Makes the barriers that this thread has initialized visible to TMA and to the cluster.
__device__ __forceinline__ void fence_barrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void arrive(Barrier* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier))
               : "memory");
}

// Arrives and adds `bytes` to the bytes that the current phase of the barrier waits for.
__device__ __forceinline__ void arrive_expect_tx(Barrier* barrier, int bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
      "r"(bytes)
      : "memory");
}

// Arrives as soon as all cp.async copies that this thread has started are complete.
__device__ __forceinline__ void cp_async_arrive(Barrier* barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(barrier))
               : "memory");
}

// Waits until the barrier's phase of this parity has ended. The parity of successive phases is 0,
// 1, 0, 1 and so on; the phase before the first counts as ended.
__device__ __forceinline__ void wait_parity(Barrier* barrier, unsigned parity) {
  asm volatile(
      "{\n"
      ".reg .pred over;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 over, [%0], %1;\n"
      "@!over bra again;\n"
      "}" ::"r"(shared_address(barrier)),
      "r"(parity)
      : "memory");
}

// wait_parity() for a barrier at which other blocks of the cluster arrive, or to which they send.
__device__ __forceinline__ void wait_parity_cluster(Barrier* barrier, unsigned parity) {
  asm volatile(
      "{\n"
      ".reg .pred over;\n"
      "again:\n"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 over, [%0], %1;\n"
      "@!over bra again;\n"
      "}" ::"r"(shared_address(barrier)),
      "r"(parity)
      : "memory");
}

// Starts to store a word in the shared memory of a block of the cluster (st.async), where its bytes
// count towards a barrier. Both addresses are as cluster_address() returns them.
__device__ __forceinline__ void send_word(unsigned to, unsigned word, unsigned barrier) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(to),
      "r"(word), "r"(barrier)
      : "memory");
}

}  // namespace autotune_device

#endif
