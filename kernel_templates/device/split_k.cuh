// Work along K that several warps (SLICE_K) or blocks (SPLIT_K) share: which part each of them
// does, and how their partial sums are added.
#pragma once

#include "even_shares.cuh"
#include "register_tile.cuh"
#include "sync.cuh"
#include "tile_parameters.cuh"
#include "vector.cuh"

namespace autotune_device {

// Returns the offset of a thread's result where threads exchange results, in shared memory or in
// the workspace: vectors of kWidth results, those of all threads side by side.
template <int kWidth>
__device__ __forceinline__ int exchange_offset(int thread, int result) {
  return (result / kWidth * kThreads + thread) * kWidth + result % kWidth;
}

// Adds the sums of kSlices slices, kCount results in each thread, by recursive halving: a slice
// keeps one half and gives the other half to its partner, until each slice has its own part of the
// results in the first elements: the first slice the first part, and so on. All computing threads
// call this.
template <int kSlices, int kCount>
__device__ __forceinline__ void add_slices(Accumulator* results, Accumulator* shared) {
  if constexpr (kSlices > 1) {
    constexpr int kHalf = kCount / 2;
    constexpr int kWidth = minimum(kHalf, kVectorElements);
    constexpr int kPartner = kSlices / 2 * kSliceThreads;  // distance to the partner's thread
    const bool upper = threadIdx.x & kPartner;
    ComputeThreads::sync();
#pragma unroll
    for (int i = 0; i < kHalf; i += kWidth) {
      Vector<Accumulator, kWidth> given;
#pragma unroll
      for (int e = 0; e < kWidth; ++e)
        given.at[e] = upper ? results[i + e] : results[i + e + kHalf];
      store_vector<kWidth>(shared + exchange_offset<kWidth>(threadIdx.x, i), given);
    }
    ComputeThreads::sync();
#pragma unroll
    for (int i = 0; i < kHalf; i += kWidth) {
      const auto taken =
          load_vector<kWidth>(shared + exchange_offset<kWidth>(threadIdx.x ^ kPartner, i));
#pragma unroll
      for (int e = 0; e < kWidth; ++e) {
        results[i + e] = (upper ? results[i + e + kHalf] : results[i + e]) + taken.at[e];
      }
    }
    add_slices<kSlices / 2, kHalf>(results, shared);
  }
}

// The division of the k_tiles of all tiles among the blocks, and the work tiles of this block.
#if SPLIT_K == 0
// Blocks that share evenly have fewer than 2^32 k_tiles to share (may_share_evenly in
// template_support.hpp), and 64-bit divisions are slow and take many registers.
using Count = unsigned;
using WorkTiles = TileScheduler;

// The blocks first take whole tiles in turn; the tiles that remain when not every block can have
// another one are shared evenly: each block gets a range of k_tiles that may extend from one tile
// into the next. Where many blocks would meet in a tile, one whole tile per block is shared as well;
// otherwise it is not, since blocks at different k find less of their operands in the L2 cache.
struct BlockShares : WorkPartition {
  __device__ __forceinline__ BlockShares(long long all, long long k)
      : WorkPartition(static_cast<unsigned>(k - 1) / BLOCK_K + 1) {
    constexpr int kBlocksPerTile = 6;  // that are too many in one tile
    const auto tiles = static_cast<unsigned>(all);
    const unsigned rest = tiles % clusters;
    whole = tiles - rest;
    if (rest > 0 && kBlocksPerTile * rest < clusters && whole > 0) whole -= clusters;
    share_behind_whole(tiles);
  }

  // Returns the tile in which a block's share begins.
  __device__ __forceinline__ Count tile_of(Count block) const {
    return whole + begin(block) / k_tiles;
  }
  // Return the block whose share has the first or the last k_tile of a tile.
  __device__ __forceinline__ Count first_block(Count tile) const {
    return cluster_of((tile - whole) * k_tiles);
  }
  __device__ __forceinline__ Count last_block(Count tile) const {
    return cluster_of((tile - whole + 1) * k_tiles - 1);
  }
};
#else
using Count = long long;

// Each tile has the same number of blocks, `share`, to itself.
struct BlockShares {
  static constexpr Count whole = 0;  // tiles that no blocks share

  Count k_tiles;  // of a tile
  Count share;

  __device__ __forceinline__ BlockShares(long long tiles, long long k)
      : k_tiles(static_cast<Count>(k - 1) / BLOCK_K + 1),
        share(gridDim.x / static_cast<unsigned>(tiles)) {}

  // Returns the first k_tile of a block's share, counted from the first tile's first.
  __device__ __forceinline__ Count begin(Count block) const {
    // 32 bits, since 64-bit divisions are slow.
    const auto blocks = static_cast<unsigned>(share);
    const auto all = static_cast<unsigned>(k_tiles);
    const unsigned part = static_cast<unsigned>(block) % blocks;
    const unsigned more = all % blocks;  // the first parts have one k_tile more
    return tile_of(block) * k_tiles + part * (all / blocks) + (part < more ? part : more);
  }
  __device__ __forceinline__ Count tile_of(Count block) const {
    return static_cast<unsigned>(block) / static_cast<unsigned>(share);
  }
  __device__ __forceinline__ Count first_block(Count tile) const { return tile * share; }
  __device__ __forceinline__ Count last_block(Count tile) const { return (tile + 1) * share - 1; }
};

// The one work tile of this block.
class WorkTiles : TileScheduler {
 public:
  __device__ __forceinline__ explicit WorkTiles(const BlockShares& shares)
      : TileScheduler(static_cast<unsigned>(shares.k_tiles)) {
    if (SPLIT_K == 1) return;
    const Count begin = shares.begin(blockIdx.x);
    const Count tile = shares.tile_of(blockIdx.x);
    tile_ = static_cast<unsigned>(tile);
    begin_ = static_cast<unsigned>(begin - tile * shares.k_tiles);
    left_ = static_cast<unsigned>(shares.begin(blockIdx.x + Count{1}) - begin);
  }
  __device__ __forceinline__ WorkTile first() {
    return SPLIT_K == 1 ? WorkTile{blockIdx.x, 0, k_tiles_} : shared_tile();
  }
  __device__ __forceinline__ bool next(WorkTile&) { return false; }
};
#endif

// Returns the place of a block's partial sums in the workspace: one place for the first tile that
// the block works on, another for its last tile when that is a different one.
__device__ __forceinline__ Accumulator* partial_sums(float* workspace, const BlockShares& partition,
                                                     Count block, Count tile) {
  const int second = SPLIT_K == 0 && partition.tile_of(block) != tile;
  return reinterpret_cast<Accumulator*>(workspace + kWorkspaceCounters) +
         (2LL * block + second) * kTileM * kTileN;
}

// The parts of one tile, each the sums of a block or of a cluster, and their addition. One block
// adds up to kAtOnce parts; with more parts, groups of neighbours are added first, each by one
// block, and then the sums of the groups. The blocks of a cluster have different results, so that
// each has parts of its own. kRegisters: of a thread, at most.
template <int kRegisters>
struct Parts {
  static constexpr int kPart = kThreads * kBlockResults;  // results
  static constexpr int kAtOnce = kPart >= 4096 ? 8 : minimum(64, 32768 / kPart);
  static constexpr int kWidth = minimum(kBlockResults, kVectorElements);

  float* workspace;
  const BlockShares& partition;
  Count tile;
  Count tiles;  // that are shared
  int count;
  int group;  // parts in each group; the last group may have fewer

  __device__ __forceinline__ Parts(float* memory, const BlockShares& work, Count of_tile,
                                   long long all_tiles)
      : workspace(memory),
        partition(work),
        tile(of_tile),
        tiles(static_cast<Count>(all_tiles) - work.whole) {
    count = static_cast<int>(work.last_block(tile) - work.first_block(tile) + 1) / CLUSTER;
    group = group_size(count);
  }

  static __device__ __forceinline__ int group_size(int parts) {
    if (parts <= kAtOnce) return parts;
    int size = kAtOnce / 2;
    while (size * size < parts) ++size;
    return size;
  }
  static __device__ __forceinline__ int groups(int parts) {
    return (parts - 1) / group_size(parts) + 1;
  }

  // Return the counters of the blocks that have the same results: first one counter for all of
  // them, behind these one for each group.
  __device__ __forceinline__ int* counter() const {
    return reinterpret_cast<int*>(workspace) + index_of_tile();
  }
  __device__ __forceinline__ int* group_counter(int index) const {
    const Count most_parts =
        SPLIT_K == 0 ? partition.k_tiles / (partition.share > 0 ? partition.share : 1) + 2 : count;
    return reinterpret_cast<int*>(workspace) + tiles * CLUSTER +
           index_of_tile() * groups(static_cast<int>(most_parts)) + index;
  }
  __device__ __forceinline__ Count index_of_tile() const {
    return (tile - partition.whole) * CLUSTER + blockIdx.x % CLUSTER;
  }

  __device__ __forceinline__ Accumulator* place(int part) const {
    const Count block =
        partition.first_block(tile) + part * CLUSTER + static_cast<int>(blockIdx.x % CLUSTER);
    return partial_sums(workspace, partition, block, tile);
  }

  // Vectors have neighbouring results in reverse order. Sums are allocated to the registers that
  // the vector needs, and these must not be of the register banks of b's elements.
  static __device__ __forceinline__ int swapped(int element) {
    return kWidth > 1 ? element ^ 1 : element;
  }

  // Stores this thread's sums as a part of the tile.
  __device__ __forceinline__ void put(int part, const Accumulator* results) const {
    Accumulator* const to = place(part);
#pragma unroll
    for (int i = 0; i < kBlockResults; i += kWidth) {
      Vector<Accumulator, kWidth> vector;
#pragma unroll
      for (int e = 0; e < kWidth; ++e) vector.at[e] = results[i + swapped(e)];
      store_vector<kWidth>(to + exchange_offset<kWidth>(threadIdx.x, i), vector);
    }
  }

  // Adds every `step`th part of [first, end). Loads take long, so as many are in flight at once as
  // a thread has registers for; beyond the last part, zeros are added.
  __device__ __forceinline__ void add(int first, int end, int step, Accumulator* results) const {
    constexpr int kInFlightSums = kRegisters >= 168 ? 128 : 64;
    constexpr int kMost = SPLIT_K == 0 ? 1 : 128;  // with even shares a tile has few parts
    constexpr int kInFlight =
        kBlockResults < kInFlightSums ? minimum(kInFlightSums / kBlockResults, kMost) : 1;
#pragma unroll
    for (int e = 0; e < kBlockResults; ++e) results[e] = 0;
#pragma unroll 1
    for (int next = first; next < end; next += kInFlight * step) {
      const Accumulator* const place_of_next = place(next);  // divides when shares are even
#pragma unroll
      for (int i = 0; i < kBlockResults; i += kWidth) {
        Vector<Accumulator, kWidth> taken[kInFlight];
#pragma unroll
        for (int p = 0; p < kInFlight; ++p) {
          const int part = next + p * step;
          taken[p] = {};
          if (part >= end) continue;
          const Accumulator* const from = p == 0 ? place_of_next : place(part);
          taken[p] = load_from_l2<kWidth>(from + exchange_offset<kWidth>(threadIdx.x, i));
        }
#pragma unroll
        for (int p = 0; p < kInFlight; ++p) {
#pragma unroll
          for (int e = 0; e < kWidth; ++e) results[i + swapped(e)] += taken[p].at[e];
        }
      }
    }
  }
};

// Stores this block's sums in the workspace. In the block that arrives last with a part of the
// tile, `results` becomes the sum of all parts, in an order that depends on the problem and the
// launch alone, and the function returns true; it returns false in the other blocks. All computing
// threads call this.
template <int kRegisters>
__device__ __forceinline__ bool add_blocks(const Parts<kRegisters>& parts, Accumulator* results) {
  int own = static_cast<int>(blockIdx.x - parts.partition.first_block(parts.tile)) / CLUSTER;
  // A step that the compiler knows saves half a microsecond of the addition. Persistent blocks
  // (SPLIT_K == 0) have no registers for a second piece of code.
  if (SPLIT_K != 0 && parts.group == parts.count) {
    parts.put(own, results);
    if (!ComputeThreads::arrives_last(parts.counter(), parts.count)) return false;
    parts.add(0, parts.count, 1, results);
    return true;
  }
  int step = 1;
  // Unrolled where the compiler otherwise wants more registers than there are.
  constexpr int kSeparateLevels = COPY_THREADS > 0 ? 1 : 2;
#pragma unroll kSeparateLevels
  for (int level = parts.group < parts.count ? 0 : 1; level < 2; ++level) {
    const bool in_group = level == 0;
    parts.put(own, results);
    const int begin = in_group ? own / parts.group * parts.group : 0;
    const int end = in_group ? minimum(begin + parts.group, parts.count) : parts.count;
    int* const counter = in_group ? parts.group_counter(own / parts.group) : parts.counter();
    if (!ComputeThreads::arrives_last(counter, (end - begin - 1) / step + 1)) return false;
    parts.add(begin, end, step, results);
    own = begin;
    step = parts.group;
  }
  return true;
}

}  // namespace autotune_device
