// Where an operand of 16-bit elements lies in shared memory for the loads of matrix fragments
// (device/mma_16bit.cuh). The kernel defines BLOCK_K, the elements of K in a k_tile.
#pragma once

namespace autotune_device {

// A k_tile of one operand: kRowsOfTile rows of op(A), or columns of op(B). Its lines run in the
// direction in which memory has neighbours. Chunks of 8 elements, 16 bytes, change their places
// within a line, so that the 8 chunks of neighbouring lines that ldmatrix reads at a time lie in
// different banks. Lengths of lines are powers of two.
template <int kRowsOfTile, bool kNeighboursAlongK>
struct SwizzledTile {
  static constexpr int kRows = kRowsOfTile;
  static constexpr bool kKMajor = kNeighboursAlongK;
  static constexpr int kLines = kKMajor ? kRows : BLOCK_K;
  static constexpr int kLength = kKMajor ? BLOCK_K : kRows;  // elements of a line
  static constexpr int kChunks = kLength / 8;
  static constexpr int kSize = kLines * kLength;
  static_assert(kLength >= 16 && (kLength & (kLength - 1)) == 0);

  // Returns the bits in which a chunk's place differs from its number. Those of two lines whose
  // numbers have no bits in common differ by those of the one from those of both.
  static __device__ __forceinline__ int swizzle(int line) {
    return kChunks >= 8 ? line % 8 : line / (8 / kChunks) % kChunks;
  }
  // Returns the offset of an element, in elements.
  static __device__ __forceinline__ int offset(int line, int element) {
    return line * kLength + (element / 8 ^ swizzle(line)) * 8 + element % 8;
  }
  // Returns the offset of an element `lines` further, where the bits of `lines` are 0 in the line's
  // own number.
  static __device__ __forceinline__ int offset_behind(int own, int lines) {
    return (own ^ swizzle(lines) * 8) + lines * kLength;
  }

  // Returns the offset of the chunk that a lane names in the fragment of the tile's first 16 k, and
  // of 16 rows from `row` on. kOfA: the fragment is one of A.
  template <bool kOfA>
  static __device__ __forceinline__ int fragment_offset(int row) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    constexpr bool kSixteenLines = kOfA == kKMajor;  // before the next chunk of a line
    const int line = kSixteenLines ? lane % 16 : lane % 8 + lane / 16 * 8;
    const int element = (kSixteenLines ? lane / 16 : lane / 8 % 2) * 8;
    return kKMajor ? offset(row + line, element) : offset(line, row + element);
  }
  // Returns the offset of the chunk in a fragment that is `rows` rows and `k` elements of K
  // further: multiples of 16, fewer rows than a warp's tile has.
  static __device__ __forceinline__ int fragment_behind(int own, int rows, int k) {
    return kKMajor ? (own ^ k) + rows * kLength : (own ^ rows) + k * kLength;
  }
};

}  // namespace autotune_device
