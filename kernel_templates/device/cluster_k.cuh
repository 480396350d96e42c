// Clusters whose CLUSTER_K blocks split K of one tile (compute capability 9.0). With CLUSTER_K of 1
// blocks, or clusters of CLUSTER blocks, take tiles in turn (device/even_shares.cuh). Plain C++
// compilers see an empty header.
#pragma once

#include "barrier.cuh"
#include "even_shares.cuh"

#ifdef __CUDACC__

namespace autotune_device {

// Waits until all threads of the cluster, or of a block without one, have arrived. It does not make
// a block's writes visible to the others: each thread would have to wait for its accesses of global
// memory too.
__device__ __forceinline__ void cluster_sync() {
  if (CLUSTER * CLUSTER_K > 1) {
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::
                     : "memory");
  } else {
    __syncthreads();
  }
}

// Makes this thread's earlier writes to the block's shared memory visible to threads of the cluster
// behind their next cluster_sync().
__device__ __forceinline__ void release_shared_to_cluster() {
#if __CUDACC_VER_MAJOR__ > 12 || (__CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ >= 8)
  asm volatile("fence.release.sync_restrict::shared::cta.cluster;" ::: "memory");
#else
  asm volatile("fence.acq_rel.cluster;" ::: "memory");
#endif
}

// The one work tile of a block whose cluster splits K of a tile.
class PartOfTile {
 public:
  __device__ __forceinline__ explicit PartOfTile(const WorkPartition& partition)
      : k_tiles_(partition.k_tiles) {}
  __device__ __forceinline__ bool next(WorkTile& work) {
    if (taken_) return false;
    taken_ = true;
    const unsigned rank = blockIdx.x % CLUSTER_K;
    work = {blockIdx.x / CLUSTER_K, k_tiles_ * rank / CLUSTER_K, k_tiles_ * (rank + 1) / CLUSTER_K};
    return true;
  }

 private:
  unsigned k_tiles_;
  bool taken_ = false;
};

#if CLUSTER_K > 1
using WorkTiles = PartOfTile;
#else
using WorkTiles = TileScheduler;
#endif

// Where a cluster splits K of a tile: the addition of its blocks' sums through their shared memory.
// A block adds every CLUSTER_K-th kStoredN columns of the tile. kConsumers threads have the sums,
// 64 rows for each 128 threads.
template <int kConsumers, int kTileN>
struct ClusterSums {
  static constexpr int kStoredN = kTileN % 32 == 0 ? 32 : 16;
  static constexpr int kSums = kTileN / 2;  // of a thread
  static constexpr int kBytes = 4 * kConsumers * kSums;

  unsigned memory;  // the address of kBytes, which the blocks no longer use

  // Stores this thread's sums, for the cluster's blocks behind cluster_sync(). All consumer threads
  // call this.
  __device__ __forceinline__ void put(unsigned char* own, const float (&sums)[kSums]) const {
    // Other warps' matrix instructions may still read the buffers.
    asm volatile("bar.sync %0, %1;" ::"n"(1 + kConsumers / 128), "n"(kConsumers) : "memory");
#pragma unroll
    for (int i = 0; i < kSums; i += 4) {
      *reinterpret_cast<float4*>(own + place(i)) = {sums[i], sums[i + 1], sums[i + 2], sums[i + 3]};
    }
    release_shared_to_cluster();
  }
  // Adds the sums of all blocks in the order of K and stores them, in the block's columns of the
  // tile that begins at the row and the column. All consumer threads call this.
  template <typename Epilogue>
  __device__ __forceinline__ void store(const Epilogue& epilogue, int row, int column) const {
#pragma unroll 1
    for (int at = blockIdx.x % CLUSTER_K * kStoredN; at < kTileN; at += CLUSTER_K * kStoredN) {
      const auto words = epilogue.load_words(row, column + at);
      float some[Epilogue::kSums] = {};
      add(at, some);
      epilogue.store(some, words, row, column + at);
    }
  }

 private:
  template <int kCount>
  __device__ __forceinline__ void add(int column, float (&some)[kCount]) const {
    const unsigned from = memory + place(column / 2);
#pragma unroll 2
    for (unsigned block = 0; block < CLUSTER_K; ++block) {
      const unsigned at = cluster_address(from, block);
#pragma unroll
      for (int i = 0; i < kCount; i += 4) {
        float4 part;
        asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(part.x), "=f"(part.y), "=f"(part.z), "=f"(part.w)
                     : "r"(at + i * 4 * kConsumers)
                     : "memory");
        some[i] += part.x;
        some[i + 1] += part.y;
        some[i + 2] += part.z;
        some[i + 3] += part.w;
      }
    }
  }

  // Returns the place of this thread's four sums from `i` on, in bytes.
  static __device__ __forceinline__ unsigned place(int i) {
    return (i / 4 * kConsumers + threadIdx.x) * 16;
  }
};

}  // namespace autotune_device

#endif
