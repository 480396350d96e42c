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
    meet();
#pragma unroll
    for (int i = 0; i < kHalf; i += kWidth) {
      Vector<kWidth> given;
#pragma unroll
      for (int e = 0; e < kWidth; ++e)
        given.at[e] = upper ? results[i + e] : results[i + e + kHalf];
      write<kWidth>(shared + exchange_place<kWidth>(threadIdx.x, i), given);
    }
    meet();
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

// Counts of tiles and phases. Blocks that share evenly have fewer than 2^32 to share (rules.hpp),
// and divisions of 64 bits take long and many registers.
#if SPLIT_K == 0
using Count = unsigned;
#else
using Count = long long;
#endif

// Who does what of the work: the phases of every tile, tile after tile. With SPLIT_K above 1 each
// tile has the same number of blocks to itself. With 0 blocks first take whole tiles in turn; those
// that are left when not all have one any more they share evenly, each a number of phases that may
// go on from one tile to the next. Where many would meet in a tile, they share one whole tile each
// as well; else not, since blocks at different k find less of what they read in the L2 cache.
struct Schedule {
  static constexpr int kFewTiles = 6;  // for so many blocks one

  Count phases_per_tile;
  Count first_shared;  // tile; 0 unless SPLIT_K == 0
  Count share;         // SPLIT_K == 0: phases of a block; the first `longer` blocks have one more
  Count longer;        // else: blocks of a tile, and 0

  __device__ __forceinline__ Schedule(long long tiles, long long k) {
    phases_per_tile = static_cast<Count>(k - 1) / BLOCK_K + 1;
    first_shared = 0;
    if (SPLIT_K != 0) {
      share = gridDim.x / static_cast<unsigned>(tiles);
      longer = 0;
      return;
    }
    const Count blocks = gridDim.x;
    const Count rest = static_cast<Count>(tiles) % blocks;
    first_shared = static_cast<Count>(tiles) - rest;
    if (rest > 0 && kFewTiles * rest < blocks && first_shared > 0) first_shared -= blocks;
    const Count shared_phases = (static_cast<Count>(tiles) - first_shared) * phases_per_tile;
    share = shared_phases / blocks;
    longer = shared_phases % blocks;
  }
  // The first phase of a block's share, counted from that of the first tile that is shared.
  __device__ __forceinline__ Count begin(Count block) const {
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
  __device__ __forceinline__ Count tile_of(Count block) const {
    if (SPLIT_K == 0) return first_shared + begin(block) / phases_per_tile;
    return static_cast<unsigned>(block) / static_cast<unsigned>(share);
  }
  // The block whose share has the first phase of a tile, or the last one.
  __device__ __forceinline__ Count first_block(Count tile) const {
    return SPLIT_K == 0 ? block_of((tile - first_shared) * phases_per_tile) : tile * share;
  }
  __device__ __forceinline__ Count last_block(Count tile) const {
    return SPLIT_K == 0 ? block_of((tile - first_shared + 1) * phases_per_tile - 1)
                        : (tile + 1) * share - 1;
  }
  __device__ __forceinline__ Count block_of(Count phase) const {
    const Count of_longer = longer * (share + 1);
    return phase < of_longer ? phase / (share + 1) : longer + (phase - of_longer) / share;
  }
};

// Phases [begin, end) of a tile.
struct Share {
  unsigned tile, begin, end;

  __device__ __forceinline__ long long first_k() const {
    return static_cast<long long>(begin) * BLOCK_K;
  }
  // Behind their last element of K.
  __device__ __forceinline__ long long k_end(long long k) const {
    const long long whole = static_cast<long long>(end) * BLOCK_K;
    return SPLIT_K == 1 || whole > k ? k : whole;
  }
};

// What this block does, one share after the other: more than one with SPLIT_K == 0 alone. After the
// first nothing is divided: the machine's division of 64 bits takes more registers than threads
// have that only copy. Numbers of 32 bits, since they are kept while a tile is multiplied.
class Worklist {
 public:
  __device__ __forceinline__ explicit Worklist(const Schedule& schedule)
      : phases_per_tile_(static_cast<unsigned>(schedule.phases_per_tile)),
        first_shared_(static_cast<unsigned>(schedule.first_shared)),
        whole_(blockIdx.x) {
    if (SPLIT_K == 1) return;
    const Count begin = schedule.begin(blockIdx.x);
    const Count tile = schedule.tile_of(blockIdx.x);
    tile_ = static_cast<unsigned>(tile);
    begin_ =
        static_cast<unsigned>(begin - (tile - schedule.first_shared) * schedule.phases_per_tile);
    left_ = static_cast<unsigned>(schedule.begin(blockIdx.x + Count{1}) - begin);
  }

  __device__ __forceinline__ Share first() {
    if (SPLIT_K == 1) return {whole_, 0, phases_per_tile_};
    if (SPLIT_K == 0 && whole_ < first_shared_) return whole_tile();
    return share_of_tile();
  }

  // False when nothing is left.
  __device__ __forceinline__ bool next(Share& share) {
    if (SPLIT_K != 0) return false;
    if (whole_ < first_shared_) {
      share = whole_tile();
      return true;
    }
    if (left_ == 0) return false;
    share = share_of_tile();
    return true;
  }

 private:
  __device__ __forceinline__ Share whole_tile() {
    const Share share{whole_, 0, phases_per_tile_};
    whole_ += gridDim.x;
    return share;
  }
  __device__ __forceinline__ Share share_of_tile() {
    const unsigned end = begin_ + left_ < phases_per_tile_ ? begin_ + left_ : phases_per_tile_;
    const Share share{tile_, begin_, end};
    left_ -= end - begin_;
    begin_ = 0;
    ++tile_;
    return share;
  }

  unsigned phases_per_tile_, first_shared_;
  unsigned whole_;         // the next tile that this block has to itself
  unsigned tile_, begin_;  // where its share of the others goes on
  unsigned left_;          // phases of that
};

// A block's sums for parts of tiles, in the scratch: of the first tile that it works on, and of
// its last when that is another.
__device__ __forceinline__ float* partial_sums(float* scratch, const Schedule& schedule,
                                               Count block, Count tile) {
  const int second = SPLIT_K == 0 && schedule.tile_of(block) != tile;
  return scratch + kCounters + (2LL * block + second) * kTileM * kTileN;
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
  Count tile;
  Count tiles;  // that are shared
  int count;
  int group;  // parts in each but the last

  __device__ __forceinline__ Parts(float* all, const Schedule& s, Count of_tile,
                                   long long all_tiles)
      : scratch(all),
        schedule(s),
        tile(of_tile),
        tiles(static_cast<Count>(all_tiles) - s.first_shared) {
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
    return reinterpret_cast<int*>(scratch) + of_tile();
  }
  __device__ __forceinline__ int* group_counter(int index) const {
    const Count most_parts =
        SPLIT_K == 0 ? schedule.phases_per_tile / (schedule.share > 0 ? schedule.share : 1) + 2
                     : count;
    return reinterpret_cast<int*>(scratch) + tiles * CLUSTER +
           of_tile() * groups(static_cast<int>(most_parts)) + index;
  }
  __device__ __forceinline__ Count of_tile() const {
    return (tile - schedule.first_shared) * CLUSTER + blockIdx.x % CLUSTER;
  }

  __device__ __forceinline__ float* place(int part) const {
    const Count block =
        schedule.first_block(tile) + part * CLUSTER + static_cast<int>(blockIdx.x % CLUSTER);
    return partial_sums(scratch, schedule, block, tile);
  }

  // Vectors have neighbours the other way round: sums get the registers that the vector wants, and
  // these shall not be of the banks that b's have.
  static __device__ __forceinline__ int swapped(int element) {
    return kWidth > 1 ? element ^ 1 : element;
  }

  __device__ __forceinline__ void put(int part, const float* results) const {
    float* const to = place(part);
#pragma unroll
    for (int i = 0; i < kOfBlock; i += kWidth) {
      Vector<kWidth> vector;
#pragma unroll
      for (int e = 0; e < kWidth; ++e) vector.at[e] = results[i + swapped(e)];
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
      const float* const place_of_next = place(next);  // with even shares there are divisions in it
#pragma unroll
      for (int i = 0; i < kOfBlock; i += kWidth) {
        Vector<kWidth> taken[kUnderWay];
#pragma unroll
        for (int p = 0; p < kUnderWay; ++p) {
          const int part = next + p * step;
          taken[p] = {};
          if (part >= end) continue;
          const float* const from = p == 0 ? place_of_next : place(part);
          taken[p] = read_others<kWidth>(from + exchange_place<kWidth>(threadIdx.x, i));
        }
#pragma unroll
        for (int p = 0; p < kUnderWay; ++p) {
#pragma unroll
          for (int e = 0; e < kWidth; ++e) results[i + swapped(e)] += taken[p].at[e];
        }
      }
    }
  }
};

#ifdef COPYING_WARPS
constexpr int kSeparateLevels = 1;
#else
constexpr int kSeparateLevels = 2;
#endif

// Leaves this block's sums in the scratch. In the block that comes last with a part of the tile,
// `results` becomes the sum of all of them, in an order that depends on the problem and the launch
// alone; false in the others.
__device__ __forceinline__ bool add_blocks(const Parts& parts, float* results) {
  int own = static_cast<int>(blockIdx.x - parts.schedule.first_block(parts.tile)) / CLUSTER;
  // With a step that the compiler knows, adding takes half a microsecond less. Blocks that stay
  // have no registers for a second piece of code.
  if (SPLIT_K != 0 && parts.group == parts.count) {
    parts.put(own, results);
    if (!arrives_last(parts.counter(), parts.count)) return false;
    parts.add(0, parts.count, 1, results);
    return true;
  }
  int step = 1;
  // First the group's parts, where there are groups, then those of all. Written out where the
  // compiler otherwise wants more registers than there are.
#pragma unroll kSeparateLevels
  for (int level = parts.group < parts.count ? 0 : 1; level < 2; ++level) {
    const bool in_group = level == 0;
    parts.put(own, results);
    const int begin = in_group ? own / parts.group * parts.group : 0;
    const int end = in_group ? least(begin + parts.group, parts.count) : parts.count;
    int* const counter = in_group ? parts.group_counter(own / parts.group) : parts.counter();
    if (!arrives_last(counter, (end - begin - 1) / step + 1)) return false;
    parts.add(begin, end, step, results);
    own = begin;
    step = parts.group;
  }
  return true;
}
