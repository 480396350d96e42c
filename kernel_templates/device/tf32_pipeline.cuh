// The tile of a block of gemm_tf32_wgmma, and the copies of its operands to shared memory. The left
// operand is op(A), or with SWAP_AB the transposed op(B). Copying threads copy both operands as
// they lie in memory, and split the right one for the matrix instructions, which read it along K.
// Plain C++ compilers see an empty header.
#pragma once

#undef CLUSTER
#define CLUSTER 1
#define BLOCK_K 32

#include "barrier.cuh"
#include "cluster_k.cuh"
#include "copied_operand.cuh"
#include "even_shares.cuh"
#include "mma.cuh"
#include "sync.cuh"
#include "vector.cuh"

#ifdef __CUDACC__

namespace autotune_device {

constexpr int kProducts = MATH_TF32 ? 1 : 3;  // of TF32, for one of FP32
constexpr int kTileRows = 64 * WARPGROUPS;    // of the left operand
constexpr int kTileColumns = BLOCK_N;         // of the right one
constexpr int kTileM = SWAP_AB ? kTileColumns : kTileRows;
constexpr int kTileN = SWAP_AB ? kTileRows : kTileColumns;
constexpr int kConsumers = 128 * WARPGROUPS;
constexpr int kCopyThreads = 128;
constexpr int kThreads = kConsumers + kCopyThreads;
constexpr int kSums = kTileColumns / 2;  // of a thread

constexpr bool kLeftKMajor = SWAP_AB ? TRANSPOSE_B : !TRANSPOSE_A;
constexpr bool kRightKMajor = SWAP_AB ? !TRANSPOSE_A : TRANSPOSE_B;
using Left = CopiedOperand<kTileRows, kLeftKMajor, kCopyThreads>;
using Right = CopiedOperand<kTileColumns, kRightKMajor, kCopyThreads>;

// A k_tile of both operands as they were copied, and one of the right operand as it was split: for
// each column 128 bytes of high parts, whose vectors of 16 bytes are in the order of the 128-byte
// swizzle, and behind those of all columns the low parts.
constexpr int kCopied = 4 * (Left::kSize + Right::kSize);
constexpr int kSplitFloats = kTileColumns * BLOCK_K;
constexpr int kSplit = 4 * kSplitFloats * (kProducts == 1 ? 1 : 2);
constexpr int kSplits = 2;  // buffers of split k_tiles
// Floats behind the buffers, in which threads exchange magnitudes.
constexpr int kExchange = 3 * kConsumers + kTileRows + kTileColumns;
constexpr int kMostStages = (226 * 1024 - 4 * kExchange - kSplits * kSplit) / kCopied;
constexpr int kStages = kMostStages < 8 ? kMostStages : 8;  // buffers of copied k_tiles
constexpr int kBuffers = kSplits * kSplit + kStages * kCopied;
static_assert(kStages > kSplits, "");

constexpr int kFirstRegisters = 65536 / kThreads / 8 * 8;
constexpr int kCopyRegisters = 72;
constexpr int kFreeRegisters =
    (kFirstRegisters * kThreads - kCopyRegisters * kCopyThreads) / kConsumers;
constexpr int kRegisters = kFreeRegisters < 240 ? kFreeRegisters / 8 * 8 : 240;

using TileSums = ClusterSums<kConsumers, kTileColumns>;
static_assert(CLUSTER_K == 1 || TileSums::kBytes <= kBuffers, "");

// An operand as a matrix whose rows run along K.
struct Matrix {
  const float* first;
  long long ld;
  int rows;
};

// The buffers, which the k_tiles of all work tiles take in turn, and their barriers.
struct Buffers {
  unsigned char* first;  // split k_tiles, and behind them the copied ones
  Barrier* full;         // of each copied k_tile: it is there, and its right operand is split
  Barrier* empty;        // of each copied k_tile: all consumer warps have read it

  // Initializes the barriers. One thread calls this before others use them.
  __device__ __forceinline__ void init() const {
    for (int i = 0; i < kStages; ++i) {
      init_barrier(full + i, kCopyThreads / 32);
      init_barrier(empty + i, kConsumers / 32);
    }
    fence_barrier_init();
  }
  __device__ __forceinline__ float* split(unsigned k_tile) const {
    return reinterpret_cast<float*>(first + k_tile % kSplits * kSplit);
  }
  __device__ __forceinline__ float* left(unsigned k_tile) const {
    return reinterpret_cast<float*>(first + kSplits * kSplit + k_tile % kStages * kCopied);
  }
  __device__ __forceinline__ float* right(unsigned k_tile) const {
    return left(k_tile) + Left::kSize;
  }
  __device__ __forceinline__ void wait_full(unsigned k_tile) const {
    wait_parity(full + k_tile % kStages, k_tile / kStages % 2);
  }
  // Waits until the consumer warps have read the k_tile.
  __device__ __forceinline__ void wait_read(unsigned k_tile) const {
    wait_parity(empty + k_tile % kStages, k_tile / kStages % 2);
  }
  // Arrives at a barrier after all lanes of the warp, which call this.
  static __device__ __forceinline__ void arrive_warp(Barrier* barrier) {
    __syncwarp();
    if (threadIdx.x % 32 == 0) arrive(barrier);
  }
};

// The first row and column of a tile of the product that the kernel computes.
struct Place {
  int row, column;

  __device__ __forceinline__ Place(const TileGrid& grid, unsigned tile) {
    int in_m, in_n;
    grid.place(tile, kTileM, kTileN, in_m, in_n);
    row = SWAP_AB ? in_n : in_m;
    column = SWAP_AB ? in_m : in_n;
  }
};

// The copies of the k_tiles of all work tiles, in turn.
class Copies {
 public:
  __device__ __forceinline__ Copies(const Buffers& buffers, const Matrix& left, const Matrix& right,
                                    int k, WorkTiles& work_tiles, const TileGrid& grid)
      : buffers_(buffers),
        left_(left),
        right_(right),
        k_(k),
        work_tiles_(work_tiles),
        grid_(grid),
        from_left_(left.first, left.ld, 0, 0, 0, kConsumers),
        from_right_(right.first, right.ld, 0, 0, 0, kConsumers) {}

  // The number of k_tiles whose copies have been started.
  [[nodiscard]] __device__ __forceinline__ unsigned count() const { return count_; }

  // Starts the copies of the next k_tile, if there is one, as a group of its own. All copying
  // threads call this.
  __device__ __forceinline__ void start() {
    if (k_tiles_ > 0 || begin_work()) {
      from_left_.copy(buffers_.left(count_), left_.first, k_left_);
      from_right_.copy(buffers_.right(count_), left_.first, k_left_);
      k_left_ -= BLOCK_K;
      --k_tiles_;
      ++count_;
    }
    cp_async_commit();
  }

 private:
  // Begins the next work tile that has k_tiles; returns false when there is none.
  __device__ __forceinline__ bool begin_work() {
    WorkTile work;
    do {
      if (!work_tiles_.next(work)) return false;
    } while (work.begin == work.end);
    const Place place(grid_, work.tile);
    const long long first_k = static_cast<long long>(work.begin) * BLOCK_K;
    from_left_ = Left(left_.first, left_.ld, place.row, left_.rows, first_k, kConsumers);
    from_right_ = Right(right_.first, right_.ld, place.column, right_.rows, first_k, kConsumers);
    k_tiles_ = work.end - work.begin;
    k_left_ = k_ - static_cast<int>(first_k);
    return true;
  }

  const Buffers& buffers_;
  const Matrix &left_, &right_;
  int k_;
  WorkTiles& work_tiles_;
  const TileGrid& grid_;
  Left from_left_;
  Right from_right_;
  unsigned k_tiles_ = 0;  // of the work tile that are left
  int k_left_ = 0;        // elements of K
  unsigned count_ = 0;
};

// Returns the place of an element of the right operand in a split k_tile.
__device__ __forceinline__ int split_offset(int column, int k) {
  return column * BLOCK_K + (k / 4 ^ column % 8) * 4 + k % 4;
}

// Splits a copied k_tile of the right operand. All copying threads call this.
__device__ __forceinline__ void split_right(const float* from, float* to) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x - kConsumers) / 32;
  constexpr int kVectors = kTileColumns / 16;
  Vector<float, 4> x[kVectors];
  // All loads go first: the compiler does not move them past stores.
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const int column = i / 2 * 32 + lane, k = warp * 8 + i % 2 * 4;
    if constexpr (kRightKMajor) {
      x[i] = load_vector<4>(from + Right::offset(column, k));
    } else {
#pragma unroll
      for (int e = 0; e < 4; ++e) x[i].at[e] = from[Right::offset(column, k + e)];
    }
  }
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    Vector<float, 4> high, low;
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      high.at[e] = kProducts == 1 ? float_of(round_to_tf32(x[i].at[e])) : high_tf32(x[i].at[e]);
      low.at[e] = x[i].at[e] - high.at[e];
    }
    // The swizzle is the same for columns that are 32 apart.
    float* const place = to + split_offset(lane, warp * 8 + i % 2 * 4) + i / 2 * 32 * BLOCK_K;
    store_vector<4>(place, high);
    if constexpr (kProducts == 3) store_vector<4>(place + kSplitFloats, low);
  }
}

// Copies the k_tiles of all work tiles and splits their right operands. All copying threads call
// this.
__device__ __forceinline__ void copy_and_split(const Buffers& buffers, Copies& copies) {
#pragma unroll 1
  for (int i = 0; i < kStages - 1; ++i) copies.start();
#pragma unroll 1
  for (unsigned k_tile = 0; k_tile < copies.count(); ++k_tile) {
    cp_async_wait<kStages - 2>();
    asm volatile("bar.sync %0, %1;" ::"n"(2 + WARPGROUPS), "n"(kCopyThreads) : "memory");
    // The consumers have read the k_tile that was split here before: this was waited for below.
    split_right(buffers.right(k_tile), buffers.split(k_tile));
    Buffers::arrive_warp(buffers.full + k_tile % kStages);
    if (k_tile > 0) buffers.wait_read(k_tile - 1);
    copies.start();
  }
}

}  // namespace autotune_device

#endif
