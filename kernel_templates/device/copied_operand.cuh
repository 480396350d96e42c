// An operand of FP32 that cp.async copies to shared memory k_tile by k_tile, as it lies in memory,
// with gaps that keep the reads of matrix fragments (device/mma.cuh) free of bank conflicts. The
// kernel defines BLOCK_K, the elements of K in a k_tile, and ALIGNED.
#pragma once

#include "cp_async.cuh"
#include "cp_async_zfill.cuh"

namespace autotune_device {

// The k_tiles of one operand in shared memory, as kThreads threads copy them.
template <int kRowsOfTile, bool kNeighboursAlongK, int kThreads>
struct CopiedOperand {
  static constexpr int kRows = kRowsOfTile;
  static constexpr bool kKMajor = kNeighboursAlongK;
  static constexpr int kPitch = kKMajor ? BLOCK_K + 4 : kRows + 8;
  static constexpr int kSize = (kKMajor ? kRows : BLOCK_K) * kPitch;
  static constexpr int kWidth = ALIGNED ? 4 : 1;                        // elements of a copy
  static constexpr int kAcross = (kKMajor ? BLOCK_K : kRows) / kWidth;  // copies of a line
  static constexpr int kLineStep = kThreads / kAcross;
  static constexpr int kLines = kKMajor ? kRows : BLOCK_K;
  static_assert(kThreads % kAcross == 0);

  const float* next;  // this thread's first element of the next k_tile to be copied
  long long leading;
  int line, along;  // its place in the tile
  int rows_left;    // of the matrix, from the tile's first row on

  // first_thread: the first of the threads.
  __device__ __forceinline__ CopiedOperand(const float* source, long long ld, long long first_row,
                                           long long rows, long long first_k,
                                           unsigned first_thread = 0)
      : leading(ld),
        line(static_cast<int>(threadIdx.x - first_thread) / kAcross),
        along(static_cast<int>(threadIdx.x - first_thread) % kAcross * kWidth),
        rows_left(rows - first_row < kRows ? static_cast<int>(rows - first_row) : kRows) {
    next = source + (kKMajor ? (first_row + line) * ld + first_k + along
                             : (first_k + line) * ld + first_row + along);
  }

  static __device__ __forceinline__ int offset(int row, int k) {
    return kKMajor ? row * kPitch + k : k * kPitch + row;
  }

  // Starts to copy the next k_tile, of which k_left elements of K are there. All threads call this.
  // readable: memory that a copy names where it stores zeros.
  __device__ __forceinline__ void copy(float* to, const float* readable, int k_left) {
    if (rows_left == kRows && k_left >= BLOCK_K) {
      copy_lines<false>(to, readable, k_left);
    } else {
      copy_lines<true>(to, readable, k_left);
    }
    next += kKMajor ? BLOCK_K : BLOCK_K * leading;
  }

 private:
  // Copies a k_tile. With kChecked, zeros are stored for what the matrix does not have.
  template <bool kChecked>
  __device__ __forceinline__ void copy_lines(float* to, const float* readable, int k_left) const {
    const bool along_is_there = along < (kKMajor ? k_left : rows_left);
    const int lines_left = (kKMajor ? rows_left : k_left) - line;
    to += line * kPitch + along;
    const float* from = next;
#pragma unroll
    for (int i = 0; i < kLines; i += kLineStep) {
      if (kLines % kLineStep != 0 && i + line >= kLines) break;
      if constexpr (kChecked) {
        const bool is_there = along_is_there && i < lines_left;
        cp_async_or_zero<kWidth>(to + i * kPitch, is_there ? from : readable, is_there);
      } else {
        cp_async<kWidth>(to + i * kPitch, from);
      }
      from += kLineStep * leading;
    }
  }
};

}  // namespace autotune_device
