// What a block makes visible to the others of its launch: the machine's words, and what they mean
// on a processor that runs one thread at a time. Behind vector.cuh.

#ifdef __CUDA_ARCH__

__device__ __forceinline__ int count(int* counter) {
  return atomicAdd(counter, 1);
}

// What this thread wrote before, and others of its block before they met it at a barrier, other
// blocks see before what it writes after.
__device__ __forceinline__ void publish() {
  __threadfence();
}

// What another block wrote: not from this SM's cache.
template <int kElements>
__device__ __forceinline__ Vector<kElements> read_others(const float* from) {
  Vector<kElements> v;
  if constexpr (kElements == 4) {
    asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.at[0]), "=f"(v.at[1]), "=f"(v.at[2]), "=f"(v.at[3])
                 : "l"(from));
  } else {
#pragma unroll
    for (int e = 0; e < kElements; ++e) v.at[e] = __ldcg(from + e);
  }
  return v;
}

#else

inline int count(int* counter) {
  return __atomic_fetch_add(counter, 1, __ATOMIC_ACQ_REL);
}
inline void publish() {}
template <int kElements>
inline Vector<kElements> read_others(const float* from) {
  return read<kElements>(from);
}

#endif
