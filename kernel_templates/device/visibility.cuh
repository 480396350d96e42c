// What a block makes visible to the others of its launch: the machine's words, and what they mean
// on a processor that runs one thread at a time. Behind vector.cuh.

#ifdef __CUDA_ARCH__

// Adds 1; how many have done so before. What this thread wrote earlier, and others of its block
// before they met it at a barrier, is there for who counts later to read; so is for this one, and
// those that it meets at a barrier afterwards, what who counted earlier wrote.
__device__ __forceinline__ int count(int* counter) {
  int before;
  asm volatile("atom.add.acq_rel.gpu.global.s32 %0, [%1], 1;"
               : "=r"(before)
               : "l"(counter)
               : "memory");
  return before;
}

#ifdef COPYING_WARPS

// Meets the first kThreads of the block; warps that copy are behind these.
__device__ __forceinline__ void meet() {
  asm volatile("bar.sync 1, %0;" ::"n"(kThreads) : "memory");
}
// The same, and whether it is so for any of them.
__device__ __forceinline__ bool any_thread(bool own) {
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

#else

// Meets the other threads of the block.
__device__ __forceinline__ void meet() {
  __syncthreads();
}
// The same, and whether it is so for any of them.
__device__ __forceinline__ bool any_thread(bool own) {
  return __syncthreads_or(own) != 0;
}

#endif

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
inline void meet() {
  __syncthreads();
}
inline bool any_thread(bool own) {
  __shared__ int all[1];
  __syncthreads();
  if (threadIdx.x == 0) all[0] = 0;
  __syncthreads();
  if (own) all[0] = 1;
  __syncthreads();
  return all[0] != 0;
}
template <int kElements>
inline Vector<kElements> read_others(const float* from) {
  return read<kElements>(from);
}

#endif

// Whether this block is the last of `expected` that count themselves. What the others wrote to the
// scratch before is then there to be read; the counter is zero again.
__device__ __forceinline__ bool arrives_last(int* counter, int expected) {
  meet();
  bool last = false;
  if (threadIdx.x == 0) {
    last = count(counter) + 1 == expected;
    if (last) *counter = 0;
  }
  return any_thread(last);
}
