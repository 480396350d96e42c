// A tile of an operand of 16-bit elements in shared memory, as TMA copies it and matrix
// instructions of a warpgroup read it (compute capability 9.0). Plain C++ compilers see an empty
// header.
#pragma once

#include "batch.cuh"
#include "tma.cuh"
#include "wgmma.cuh"

#ifdef __CUDACC__

namespace autotune_device {

constexpr int kTileK = 64;  // elements of K in a tile: the 128 bytes of the swizzle

// kLines rows of op(A) or columns of op(B) by kTileK of K, from a multiple of 1024 bytes on. Copies
// write zeros for what is not in the matrix.
//   kMnMajor  global memory has the lines of one k side by side. The tile then consists of boxes of
//             64 lines; otherwise each line has its elements of K side by side.
//   kBlocks   blocks of the cluster that need the same tile: each copies a part of it to all
//   kOnce     the L2 cache need not keep what is copied, which no other block reads
template <bool kMnMajor, int kLines, int kBlocks, bool kOnce = false>
struct TmaTile {
  static constexpr int kLineBytes = 2 * kTileK;
  static constexpr int kBytes = kLineBytes * kLines;
  static constexpr int kBoxLines = 64;  // of an MN-major box

  // Starts this block's copies of the tile that begins at a line and an element of K. matrix: its
  // number among those of the map of a batch. One thread calls this.
  static __device__ __forceinline__ void load(unsigned char* to, const TensorMap& map, int line,
                                              int k, int matrix, int block, Barrier* barrier) {
    if constexpr (kMnMajor) {
      constexpr int kPartK = kTileK / kBlocks;  // of a box
      to += block * kPartK * kLineBytes;
      k += block * kPartK;
#pragma unroll
      for (int first = 0; first < kLines; first += kBoxLines) {
        load_box(to + first * kLineBytes, map, line + first, k, matrix, barrier);
      }
    } else {
      constexpr int kPart = kLines / kBlocks;
      load_box(to + block * kPart * kLineBytes, map, k, line + block * kPart, matrix, barrier);
    }
  }

  // Describes the tile in shared memory from a line on, a multiple of 64.
  static __device__ __forceinline__ unsigned long long descriptor(unsigned tile, int line) {
    const unsigned from = tile + line * kLineBytes;
    return kMnMajor ? mn_major_descriptor(from) : matrix_descriptor(from);
  }

 private:
  static_assert(!kMnMajor || kLines % kBoxLines == 0, "");
  static_assert(!kOnce || kBlocks == 1, "others read it");
  static_assert(kLines / kBlocks <= 256 && kLines / kBlocks % 8 == 0, "a box of TMA");

  static __device__ __forceinline__ void load_box(unsigned char* to, const TensorMap& map,
                                                  int column, int row, int matrix,
                                                  Barrier* barrier) {
    if constexpr (kOnce) {
      tma_load_box_by<BATCHED != 0>(evict_first_policy(), to, map, column, row, matrix, barrier);
    } else if constexpr (kBlocks > 1) {
      tma_multicast_box<kBlocks, BATCHED != 0>(to, map, column, row, matrix, barrier);
    } else if constexpr (BATCHED) {
      tma_load_box(to, map, column, row, matrix, barrier);
    } else {
      tma_load_box(to, map, column, row, barrier);
    }
  }
};

}  // namespace autotune_device

#endif
