// The tiles of C in the order in which blocks take them, and persistent blocks, or clusters of CLUSTER
// blocks side by side along M, that divide the k_tiles of all tiles evenly. How many clusters there
// are is left to the launch.
#pragma once

#include "sync.cuh"
#include "vector.cuh"

namespace autotune_device {

__device__ __forceinline__ unsigned cluster_rank() {
  return CLUSTER > 1 ? blockIdx.x % CLUSTER : 0;
}

// The tiles of C: their number along each side, in clusters where those have a tile each, and how
// many rows of tiles consecutive ones work on at a time, column by column.
struct TileGrid {
  unsigned along_m, along_n, raster;

  // Return the row and the column of a tile, in tiles.
  __device__ __forceinline__ unsigned row_of(unsigned tile) const {
    return first_row(tile) + in_group(tile) % rows(tile);
  }
  __device__ __forceinline__ unsigned column_of(unsigned tile) const {
    return in_group(tile) / rows(tile);
  }
  // Sets the first row and column of the block's tile of a cluster's.
  __device__ __forceinline__ void place(unsigned tile, int tile_m, int tile_n, int& row,
                                        int& column) const {
    row = static_cast<int>((row_of(tile) * CLUSTER + cluster_rank()) * tile_m);
    column = static_cast<int>(column_of(tile) * tile_n);
  }

 private:
  __device__ __forceinline__ unsigned first_row(unsigned tile) const {
    return tile / (raster * along_n) * raster;
  }
  __device__ __forceinline__ unsigned in_group(unsigned tile) const {
    return tile % (raster * along_n);
  }
  __device__ __forceinline__ unsigned rows(unsigned tile) const {
    const unsigned left = along_m - first_row(tile);
    return left < raster ? left : raster;
  }
};

// The division of the k_tiles of all tiles among the clusters: they take whole tiles in turn, and
// share the remaining ones evenly.
struct WorkPartition {
  unsigned k_tiles;  // of a tile
  unsigned whole;    // the first tiles, which clusters take in turn
  unsigned clusters;
  unsigned share, longer;  // k_tiles of a cluster; the first `longer` clusters have one more

  __device__ __forceinline__ WorkPartition(unsigned tiles, unsigned k_tiles_of_tile)
      : k_tiles(k_tiles_of_tile), whole(0), clusters(gridDim.x / CLUSTER) {
    // The last of several rounds is shared unless nearly all clusters are busy in it, or that saves
    // each fewer k_tiles than adding the parts takes at least.
    constexpr unsigned kLeastSaved = 3;
    const unsigned rest = tiles % clusters, idle = clusters - rest;
    const bool saves = static_cast<unsigned long long>(idle) * k_tiles >= kLeastSaved * clusters;
    if (tiles > clusters) whole = saves && rest <= clusters / 8 * 7 ? tiles - rest : tiles;
    share_behind_whole(tiles);
  }
  // Returns the first k_tile of a cluster's share, counted from the first shared tile's first.
  __device__ __forceinline__ unsigned begin(unsigned cluster) const {
    return cluster * share + (cluster < longer ? cluster : longer);
  }
  // Returns the cluster whose share has a k_tile, counted from the first shared tile's first.
  __device__ __forceinline__ unsigned cluster_of(unsigned k_tile) const {
    const unsigned of_longer = longer * (share + 1);
    return k_tile < of_longer ? k_tile / (share + 1) : longer + (k_tile - of_longer) / share;
  }

 protected:
  __device__ __forceinline__ WorkPartition(unsigned k_tiles_of_tile)
      : k_tiles(k_tiles_of_tile), whole(0), clusters(gridDim.x / CLUSTER) {}
  __device__ __forceinline__ void share_behind_whole(unsigned tiles) {
    const unsigned shared_k_tiles = (tiles - whole) * k_tiles;
    share = shared_k_tiles / clusters;
    longer = shared_k_tiles % clusters;
  }
};

// The k_tiles [begin, end) of a tile.
struct WorkTile {
  unsigned tile, begin, end;

  __device__ __forceinline__ long long first_k(int block_k) const {
    return static_cast<long long>(begin) * block_k;
  }
  // Returns the end of the k_tiles in elements of K, at most k.
  __device__ __forceinline__ long long k_end(int block_k, long long k) const {
    const long long whole = static_cast<long long>(end) * block_k;
    return whole > k ? k : whole;
  }
};

// The sequence of this cluster's work tiles. Nothing is divided after the first one, because a
// division takes more registers than the copying threads of gemm_tma have.
class TileScheduler {
 public:
  __device__ __forceinline__ explicit TileScheduler(const WorkPartition& partition)
      : k_tiles_(partition.k_tiles),
        whole_(partition.whole),
        clusters_(partition.clusters),
        next_whole_(blockIdx.x / CLUSTER) {
    const unsigned first = partition.begin(next_whole_);
    tile_ = whole_ + first / k_tiles_;
    begin_ = first % k_tiles_;
    left_ = partition.begin(next_whole_ + 1) - first;
  }

  // Returns the first work tile of a cluster that has one.
  __device__ __forceinline__ WorkTile first() {
    return next_whole_ < whole_ ? whole_tile() : shared_tile();
  }
  // Sets `work` to the next work tile; returns false when there is none.
  __device__ __forceinline__ bool next(WorkTile& work) {
    if (next_whole_ < whole_) {
      work = whole_tile();
      return true;
    }
    if (left_ == 0) return false;
    work = shared_tile();
    return true;
  }

 protected:
  __device__ __forceinline__ explicit TileScheduler(unsigned k_tiles) : k_tiles_(k_tiles) {}
  __device__ __forceinline__ WorkTile whole_tile() {
    const WorkTile work{next_whole_, 0, k_tiles_};
    next_whole_ += clusters_;
    return work;
  }
  __device__ __forceinline__ WorkTile shared_tile() {
    const WorkTile work{tile_, begin_, begin_ + left_ < k_tiles_ ? begin_ + left_ : k_tiles_};
    left_ -= work.end - work.begin;
    begin_ = 0;
    ++tile_;
    return work;
  }

  unsigned k_tiles_, whole_, clusters_, next_whole_, tile_, begin_, left_;
};

// Stores this thread's sums as a part of a tile that several clusters share. In the cluster that
// arrives last the sums become those of all parts, in the order of K, and the function returns
// true. The block has kGroups groups of kThreads threads, whose tiles are independent; all threads
// of a group call this. flags: shared memory, a word for each group. kTakeTurns: the groups have
// tiles of the block in turn, so that parts of a tile may come from any of them.
template <int kGroups, int kThreads, bool kTakeTurns = false, int kSums>
__device__ __forceinline__ bool add_parts(int* counters, float* parts,
                                          const WorkPartition& partition, unsigned tile, int* flags,
                                          float (&sums)[kSums]) {
  // A thread with 128 sums has no registers left for vectors of four.
  constexpr int kWidth = kSums > 96 ? 1 : 4;
  constexpr int kPerTile = kTakeTurns ? 1 : kGroups;  // groups that have a part of it
  const unsigned group = kGroups == 1 ? 0 : threadIdx.x / kThreads;
  const unsigned in_tile = kTakeTurns ? 0 : group;
  const unsigned shared_tile = tile - partition.whole;
  const unsigned first = partition.cluster_of(shared_tile * partition.k_tiles);
  const unsigned last = partition.cluster_of((shared_tile + 1) * partition.k_tiles - 1);
  if (first == last) return true;
  // A cluster has two places: one for the tile that its share begins in, one for its last.
  const auto place = [&](unsigned cluster) {
    const bool second = partition.begin(cluster) / partition.k_tiles != shared_tile;
    const unsigned block = (2 * cluster + second) * CLUSTER + cluster_rank();
    return parts + static_cast<long long>(block * kPerTile + in_tile) * kThreads * kSums +
           threadIdx.x % kThreads * kWidth;
  };
  const auto sync = [&] {
#ifdef __CUDACC__
    asm volatile("bar.sync %0, %1;" ::"r"(1 + group), "n"(kThreads) : "memory");
#else
    __syncthreads();
#endif
  };
  float* const to = place(blockIdx.x / CLUSTER);
#pragma unroll
  for (int i = 0; i < kSums; i += kWidth) {
    Vector<float, kWidth> part;
#pragma unroll
    for (int e = 0; e < kWidth; ++e) part.at[e] = sums[i + e];
    store_vector<kWidth>(to + i * kThreads, part);
  }
  sync();
  if (threadIdx.x % kThreads == 0) {
    int* const counter = counters + (shared_tile * CLUSTER + cluster_rank()) * kPerTile + in_tile;
    flags[group] = atomic_increment(counter) == static_cast<int>(last - first);
    if (flags[group]) *counter = 0;
  }
  sync();
  if (!flags[group]) return false;
#pragma unroll
  for (int i = 0; i < kSums; ++i) sums[i] = 0;
#pragma unroll 1
  for (unsigned cluster = first; cluster <= last; ++cluster) {
    const float* const from = place(cluster);
#pragma unroll
    for (int i = 0; i < kSums; i += kWidth) {
      const auto part = load_from_l2<kWidth>(from + i * kThreads);
#pragma unroll
      for (int e = 0; e < kWidth; ++e) sums[i + e] += part.at[e];
    }
  }
  return true;
}

}  // namespace autotune_device
