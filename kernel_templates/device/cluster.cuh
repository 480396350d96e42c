// Addition of partial sums between the blocks of a cluster (CLUSTER > 1, compute capability 9.0).
#pragma once

#include "barrier.cuh"
#include "register_tile.cuh"
#include "tile_parameters.cuh"

#if CLUSTER > 1
#define CLUSTER_ATTRIBUTE __cluster_dims__(CLUSTER, 1, 1)  // of the kernel
#else
#define CLUSTER_ATTRIBUTE
#endif

namespace autotune_device {

#if CLUSTER > 1

// Each block of the cluster adds up one part of the results: the first block the first part, and so
// on. The other blocks write their sums for that part into its shared memory (st.async), where a
// barrier counts the bytes. A block that has sent its sums and received its own part does not wait
// for the other blocks.
class Cluster {
  static_assert(sizeof(Accumulator) == 4, "st.async is written for 32-bit sums");
  static constexpr int kPart = kThreads * kBlockResults;
  static constexpr int kWidth = minimum(kBlockResults, kVectorElements);

 public:
  // The shared memory that a cluster needs, in elements, at a multiple of 16 bytes: the sums of the
  // other blocks, one block after the other, and the barrier.
  static constexpr int kSharedElements = (CLUSTER - 1) * kPart + 4;

  __device__ __forceinline__ explicit Cluster(Accumulator* shared)
      : received_(shared), barrier_(reinterpret_cast<Barrier*>(shared + (CLUSTER - 1) * kPart)) {}

  static __device__ __forceinline__ int rank() { return static_cast<int>(blockIdx.x % CLUSTER); }

  // Initializes the barrier. All threads of the block call init() first and wait_init() before any
  // of them calls add(): the barriers of the whole cluster are then ready.
  __device__ __forceinline__ void init() const {
    if (threadIdx.x == 0) {
      init_barrier(barrier_, 1);
      arrive_expect_tx(barrier_, (CLUSTER - 1) * kPart * static_cast<int>(sizeof(Accumulator)));
      fence_barrier_init();
    }
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
  }
  __device__ __forceinline__ void wait_init() const {
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  }

  // Adds the sums of the cluster's blocks in the order of the blocks. Each of the kThreads threads
  // passes kSliceResults sums; on return the first kBlockResults of them are this block's part.
  __device__ __forceinline__ void add(Accumulator* results) const {
    Accumulator own[kBlockResults];
#pragma unroll
    for (int part = 0; part < CLUSTER; ++part) {
      const Accumulator* const sums = results + part * kBlockResults;
      if (part != rank()) {
        send(sums, part);
        continue;
      }
#pragma unroll
      for (int i = 0; i < kBlockResults; ++i) own[i] = sums[i];
    }
    wait_parity_cluster(barrier_, 0);
#pragma unroll
    for (int i = 0; i < kBlockResults; i += kWidth) {
#pragma unroll
      for (int block = 0; block < CLUSTER; ++block) {
        Vector<Accumulator, kWidth> sums;
        if (block == rank()) {
#pragma unroll
          for (int e = 0; e < kWidth; ++e) sums.at[e] = own[i + e];
        } else {
          sums = load_vector<kWidth>(received_ + received_offset(block, rank(), i));
        }
#pragma unroll
        for (int e = 0; e < kWidth; ++e) {
          results[i + e] = block == 0 ? sums.at[e] : results[i + e] + sums.at[e];
        }
      }
    }
  }

 private:
  // Returns the offset, in received_ of block `to`, of this thread's result from block `from`.
  static __device__ __forceinline__ int received_offset(int from, int to, int result) {
    const int index = from < to ? from : from - 1;
    return index * kPart + (result / kWidth * kThreads + threadIdx.x) * kWidth;
  }

  __device__ __forceinline__ void send(const Accumulator* sums, int to) const {
    const unsigned first =
        cluster_address(shared_address(received_ + received_offset(rank(), to, 0)), to);
    const unsigned barrier = cluster_address(shared_address(barrier_), to);
#pragma unroll
    for (int i = 0; i < kBlockResults; i += kWidth) {
      const unsigned address = first + 4 * i * kThreads;
      if constexpr (kWidth == 4) {
        asm volatile(
            "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32"
            " [%0], {%1, %2, %3, %4}, [%5];" ::"r"(address),
            "f"(sums[i]), "f"(sums[i + 1]), "f"(sums[i + 2]), "f"(sums[i + 3]), "r"(barrier)
            : "memory");
      } else if constexpr (kWidth == 2) {
        asm volatile(
            "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f32"
            " [%0], {%1, %2}, [%3];" ::"r"(address),
            "f"(sums[i]), "f"(sums[i + 1]), "r"(barrier)
            : "memory");
      } else {
        send_word(address, __float_as_uint(sums[i]), barrier);
      }
    }
  }

  Accumulator* received_;
  Barrier* barrier_;
};

#else

// A block without a cluster.
struct Cluster {
  static constexpr int kSharedElements = 0;
  __device__ __forceinline__ explicit Cluster(Accumulator*) {}
  static __device__ __forceinline__ int rank() { return 0; }
  __device__ __forceinline__ void init() const {}
  __device__ __forceinline__ void wait_init() const {}
  __device__ __forceinline__ void add(Accumulator*) const {}
};

#endif

}  // namespace autotune_device
