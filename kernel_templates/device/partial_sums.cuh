// Sums of one tile that the warps (SLICES) or blocks (SPLIT_K) of a launch have each a part of: who
// has which, and how they are added up.

#include "visibility.cuh"

// Where threads leave results for others, in shared memory or the scratch: each kWidth of them at a
// time, all threads' side by side.
template <int kWidth>
__device__ __forceinline__ int exchange_place(int thread, int result) {
  return (result / kWidth * kThreads + thread) * kWidth + result % kWidth;
}

// Adds up what kSlices slices have, kLeft results in each thread, in halves: a slice keeps one half
// and gives the other to its partner, until each has its part of the results: the first slice the
// first of them, and so on.
template <int kSlices, int kLeft>
__device__ __forceinline__ void add_slices(float* results, float* shared) {
  if constexpr (kSlices > 1) {
    constexpr int kHalf = kLeft / 2;
    constexpr int kWidth = least(kHalf, 4);
    constexpr int kApart = kSlices / 2 * kSliceThreads;  // from a thread to its partner
    const bool upper = threadIdx.x & kApart;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kHalf; i += kWidth) {
      Vector<kWidth> given;
#pragma unroll
      for (int e = 0; e < kWidth; ++e)
        given.at[e] = upper ? results[i + e] : results[i + e + kHalf];
      write<kWidth>(shared + exchange_place<kWidth>(threadIdx.x, i), given);
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kHalf; i += kWidth) {
      const auto taken = read<kWidth>(shared + exchange_place<kWidth>(threadIdx.x ^ kApart, i));
#pragma unroll
      for (int e = 0; e < kWidth; ++e) {
        results[i + e] = (upper ? results[i + e + kHalf] : results[i + e]) + taken.at[e];
      }
    }
    add_slices<kSlices / 2, kHalf>(results, shared);
  }
}

// Who does what of the work: the phases of every tile, tile after tile, in as many shares as there
// are blocks. With SPLIT_K above 1 each tile has the same number of blocks to itself; with 0 a
// share goes on from one tile to the next.
struct Schedule {
  long long phases_per_tile;
  long long share;   // SPLIT_K == 0: phases of a block; the first `longer` blocks have one more
  long long longer;  // else: blocks of a tile, and 0

  __device__ __forceinline__ Schedule(long long tiles, long long k) {
    phases_per_tile = (k - 1) / BLOCK_K + 1;
    share = SPLIT_K == 0 ? tiles * phases_per_tile / gridDim.x
                         : gridDim.x / static_cast<unsigned>(tiles);
    longer = SPLIT_K == 0 ? tiles * phases_per_tile % gridDim.x : 0;
  }
  // The first phase of a block's share.
  __device__ __forceinline__ long long begin(long long block) const {
    if (SPLIT_K == 0) return block * share + (block < longer ? block : longer);
    // Divisions of 64 bits take long.
    const auto blocks = static_cast<unsigned>(share);
    const auto phases = static_cast<unsigned>(phases_per_tile);
    const unsigned part = static_cast<unsigned>(block) % blocks;
    const unsigned more = phases % blocks;  // the first parts have one phase more
    return tile_of(block) * phases_per_tile + part * (phases / blocks) +
           (part < more ? part : more);
  }
  // Where a block's share begins.
  __device__ __forceinline__ long long tile_of(long long block) const {
    if (SPLIT_K == 0) return begin(block) / phases_per_tile;
    return static_cast<unsigned>(block) / static_cast<unsigned>(share);
  }
  // The block whose share has the first phase of a tile, or the last one.
  __device__ __forceinline__ long long first_block(long long tile) const {
    return SPLIT_K == 0 ? block_of(tile * phases_per_tile) : tile * share;
  }
  __device__ __forceinline__ long long last_block(long long tile) const {
    return SPLIT_K == 0 ? block_of((tile + 1) * phases_per_tile - 1) : (tile + 1) * share - 1;
  }
  __device__ __forceinline__ long long block_of(long long phase) const {
    const long long of_longer = longer * (share + 1);
    return phase < of_longer ? phase / (share + 1) : longer + (phase - of_longer) / share;
  }
};

// A block's sums for parts of tiles, in the scratch: of the first tile that it works on, and of
// its last when that is another.
__device__ __forceinline__ float* partial_sums(float* scratch, const Schedule& schedule,
                                               long long block, long long tile) {
  const int second = SPLIT_K == 0 && schedule.tile_of(block) != tile;
  return scratch + kCounters + (2 * block + second) * kTileM * kTileN;
}

// The parts of one tile, each the sums of a block or of a cluster, and how they are added: up to
// kAtOnce by one block; of more, groups of neighbours first, each by one block, then the groups'
// sums. The blocks of a cluster have different results: each has parts of its own.
struct Parts {
  static constexpr int kPart = kThreads * kOfBlock;  // its results
  static constexpr int kAtOnce = kPart >= 4096 ? 8 : least(64, 32768 / kPart);
  static constexpr int kWidth = least(kOfBlock, 4);

  float* scratch;
  const Schedule& schedule;
  long long tile;
  long long tiles;
  int count;
  int group;  // parts in each but the last

  __device__ __forceinline__ Parts(float* all, const Schedule& s, long long of_tile,
                                   long long all_tiles)
      : scratch(all), schedule(s), tile(of_tile), tiles(all_tiles) {
    count = static_cast<int>(s.last_block(tile) - s.first_block(tile) + 1) / CLUSTER;
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

  // Of the blocks with the same results: first one for all of them, behind these one a group.
  __device__ __forceinline__ int* counter() const {
    return reinterpret_cast<int*>(scratch) + tile * CLUSTER + blockIdx.x % CLUSTER;
  }
  __device__ __forceinline__ int* group_counter(int index) const {
    const long long most_parts =
        SPLIT_K == 0 ? schedule.phases_per_tile / schedule.share + 2 : count;
    const long long of_blocks = tile * CLUSTER + blockIdx.x % CLUSTER;
    return reinterpret_cast<int*>(scratch) + tiles * CLUSTER +
           of_blocks * groups(static_cast<int>(most_parts)) + index;
  }

  __device__ __forceinline__ float* place(int part) const {
    const long long block =
        schedule.first_block(tile) + part * CLUSTER + static_cast<int>(blockIdx.x % CLUSTER);
    return partial_sums(scratch, schedule, block, tile);
  }

  __device__ __forceinline__ void put(int part, const float* results) const {
    float* const to = place(part);
#pragma unroll
    for (int i = 0; i < kOfBlock; i += kWidth) {
      Vector<kWidth> vector;
#pragma unroll
      for (int e = 0; e < kWidth; ++e) vector.at[e] = results[i + e];
      write<kWidth>(to + exchange_place<kWidth>(threadIdx.x, i), vector);
    }
  }

  // Adds up every `step`th part of those from `first` to before `end`. Reading takes long, so as
  // many are under way at once as a thread has registers for; beyond the last, zeros are added.
  __device__ __forceinline__ void add(int first, int end, int step, float* results) const {
    constexpr int kFloats = kRegisters >= 168 ? 128 : 64;
    constexpr int kMost = SPLIT_K == 0 ? 1 : 128;  // parts: with even shares a tile has few
    constexpr int kUnderWay = kOfBlock < kFloats ? least(kFloats / kOfBlock, kMost) : 1;
#pragma unroll
    for (int e = 0; e < kOfBlock; ++e) results[e] = 0;
#pragma unroll 1
    for (int next = first; next < end; next += kUnderWay * step) {
#pragma unroll
      for (int i = 0; i < kOfBlock; i += kWidth) {
        Vector<kWidth> taken[kUnderWay];
#pragma unroll
        for (int p = 0; p < kUnderWay; ++p) {
          const int part = next + p * step;
          taken[p] = {};
          if (part >= end) continue;
          taken[p] = read_others<kWidth>(place(part) + exchange_place<kWidth>(threadIdx.x, i));
        }
#pragma unroll
        for (int p = 0; p < kUnderWay; ++p) {
#pragma unroll
          for (int e = 0; e < kWidth; ++e) results[i + e] += taken[p].at[e];
        }
      }
    }
  }
};

// Leaves this block's sums in the scratch. In the block that comes last with a part of the tile,
// `results` becomes the sum of all of them, in an order that depends on nothing but the problem;
// false in the others.
__device__ bool add_blocks(const Parts& parts, float* results) {
  const int own = static_cast<int>(blockIdx.x - parts.schedule.first_block(parts.tile)) / CLUSTER;
  parts.put(own, results);
  if (parts.count <= Parts::kAtOnce) {
    if (!arrives_last(parts.counter(), parts.count)) return false;
    parts.add(0, parts.count, 1, results);
    return true;
  }
  const int first = own / parts.group * parts.group;
  const int end = least(first + parts.group, parts.count);
  if (!arrives_last(parts.group_counter(own / parts.group), end - first)) return false;
  parts.add(first, end, 1, results);
  parts.put(first, results);
  if (!arrives_last(parts.counter(), Parts::groups(parts.count))) return false;
  parts.add(0, parts.count, parts.group, results);
  return true;
}
