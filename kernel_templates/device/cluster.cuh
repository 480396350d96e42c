// Blocks of a cluster that add up what they have of one tile. Behind barrier.cuh and
// thread_tile.cuh.

#if CLUSTER > 1

#define IN_CLUSTERS __cluster_dims__(CLUSTER, 1, 1)

// Every block adds up one part of the results, the first block the first. What the others have of
// it they write into its shared memory, where a barrier counts the bytes: nobody asks or answers,
// and who has sent its parts and got its own need not know how far the others are.
class Cluster {
  static constexpr int kPart = kThreads * kOfBlock;
  static constexpr int kWidth = least(kOfBlock, 4);

 public:
  // Of shared memory, at a multiple of 16 bytes: the others' sums, one after the other, and the
  // barrier.
  static constexpr int kFloats = (CLUSTER - 1) * kPart + 4;

  __device__ __forceinline__ explicit Cluster(float* shared)
      : received_(shared), all_here_(reinterpret_cast<Barrier*>(shared + (CLUSTER - 1) * kPart)) {}

  static __device__ __forceinline__ int rank() { return static_cast<int>(blockIdx.x % CLUSTER); }

  // All threads of the block come to open() first, to await_open() before any of them adds: then
  // the barriers of the whole cluster are open.
  __device__ __forceinline__ void open() const {
    if (threadIdx.x == 0) {
      open_barrier(all_here_, 1);
      arrive_expecting(all_here_, (CLUSTER - 1) * kPart * static_cast<int>(sizeof(float)));
      publish_barriers();
    }
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
  }
  __device__ __forceinline__ void await_open() const {
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  }

  // By kThreads threads: of the kOfSlice results of each kOfBlock remain, the sums over the
  // cluster's blocks, in their order.
  __device__ __forceinline__ void add(float* results) const {
    float own[kOfBlock];
#pragma unroll
    for (int part = 0; part < CLUSTER; ++part) {
      const float* const sums = results + part * kOfBlock;
      if (part != rank()) {
        send(sums, part);
        continue;
      }
#pragma unroll
      for (int i = 0; i < kOfBlock; ++i) own[i] = sums[i];
    }
    await_others(all_here_, 0);
#pragma unroll
    for (int i = 0; i < kOfBlock; i += kWidth) {
#pragma unroll
      for (int block = 0; block < CLUSTER; ++block) {
        Vector<kWidth> sums;
        if (block == rank()) {
#pragma unroll
          for (int e = 0; e < kWidth; ++e) sums.at[e] = own[i + e];
        } else {
          sums = read<kWidth>(received_ + place(block, rank(), i));
        }
#pragma unroll
        for (int e = 0; e < kWidth; ++e) {
          results[i + e] = block == 0 ? sums.at[e] : results[i + e] + sums.at[e];
        }
      }
    }
  }

 private:
  // In received_ of block `to`: this thread's result of those that block `from` sends.
  static __device__ __forceinline__ int place(int from, int to, int result) {
    const int index = from < to ? from : from - 1;
    return index * kPart + (result / kWidth * kThreads + threadIdx.x) * kWidth;
  }

  __device__ __forceinline__ void send(const float* sums, int to) const {
    const unsigned there = address_in(received_ + place(rank(), to, 0), to);
    const unsigned barrier = address_in(all_here_, to);
#pragma unroll
    for (int i = 0; i < kOfBlock; i += kWidth) {
      const unsigned place_there = there + 4 * i * kThreads;
      if constexpr (kWidth == 4) {
        asm volatile(
            "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32"
            " [%0], {%1, %2, %3, %4}, [%5];" ::"r"(place_there),
            "f"(sums[i]), "f"(sums[i + 1]), "f"(sums[i + 2]), "f"(sums[i + 3]), "r"(barrier)
            : "memory");
      } else if constexpr (kWidth == 2) {
        asm volatile(
            "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f32"
            " [%0], {%1, %2}, [%3];" ::"r"(place_there),
            "f"(sums[i]), "f"(sums[i + 1]), "r"(barrier)
            : "memory");
      } else {
        asm volatile(
            "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.f32 [%0], %1, [%2];" ::"r"(
                place_there),
            "f"(sums[i]), "r"(barrier)
            : "memory");
      }
    }
  }

  // Where block `to` has what this block has there.
  static __device__ __forceinline__ unsigned address_in(const void* own, int to) {
    unsigned there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared_address(own)), "r"(to));
    return there;
  }

  float* received_;
  Barrier* all_here_;
};

#else

#define IN_CLUSTERS

// A block alone.
struct Cluster {
  static constexpr int kFloats = 0;
  __device__ __forceinline__ explicit Cluster(float*) {}
  static __device__ __forceinline__ int rank() { return 0; }
  __device__ __forceinline__ void open() const {}
  __device__ __forceinline__ void await_open() const {}
  __device__ __forceinline__ void add(float*) const {}
};

#endif
