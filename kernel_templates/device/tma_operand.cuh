// An operand that TMA copies to shared memory k_tile by k_tile where it can: where its rows of one
// k are neighbours, and begin at multiples of 16 bytes (ALIGNED). Threads copy the elements of
// other operands one by one (cp.async). The kernel defines BLOCK_K, ALIGNED and BATCHED. Plain C++
// compilers see an empty header.
#pragma once

#include "tma.cuh"

#ifdef __CUDACC__

namespace autotune_device {

// The block's tile of one operand. Both operands are seen as matrices whose rows run along K: row i
// is row i of op(A), or column i of op(B), and a result is the product of two rows. Shared memory
// keeps them MN-major.
//   kRows         rows of the tile
//   kKMajor       global memory holds the elements of a row side by side; otherwise the rows of
//                 one k
//   kFirstThread  the first of the kCopyThreads threads that copy elements
template <typename T, int kRows, bool kKMajor, int kFirstThread, int kCopyThreads>
struct TmaOperand {
  using Element = T;
  static constexpr bool kByThreads = kKMajor || !ALIGNED;  // otherwise by TMA
  static constexpr bool kSharedKMajor = false;
  // The distance from one k to the next. The padding lets threads write 8 k of 4 rows at once.
  static constexpr int kPitch = kRows + (kKMajor ? 4 : 0);
  static constexpr int kSize = (kPitch * BLOCK_K + 31) / 32 * 32;
  static constexpr int kBoxBytes = kByThreads ? 0 : sizeof(T) * kRows * BLOCK_K;

  // Returns the offset of an element in the k_tile's buffer in shared memory.
  static __device__ __forceinline__ int shared_offset(int row, int k) { return k * kPitch + row; }

  // A k_tile as global memory has it: kMemoryRows rows of kMemoryColumns neighbours. Threads side
  // by side copy neighbours; a thread copies every kNeighbours-th element of every kRowStep-th row.
  static constexpr int kMemoryRows = kKMajor ? kRows : BLOCK_K;
  static constexpr int kMemoryColumns = kKMajor ? BLOCK_K : kRows;
  static constexpr int kNeighbours = kKMajor ? 8 : 32;
  static constexpr int kRowStep = kCopyThreads / kNeighbours;
  static_assert(kMemoryRows % kRowStep == 0 && kMemoryColumns % kNeighbours == 0,
                "all threads copy the same number of elements");
  // Memory rows that the code unrolls. Longer code makes the compiler choose worse registers for
  // the consumer warps.
  static constexpr int kRowsAtOnce = kKMajor ? kMemoryRows / kRowStep : 8;
  // The distance from one memory row, and from one of its elements, to the next in shared memory.
  static constexpr int kRowPitch = kKMajor ? 1 : kPitch;
  static constexpr int kColumnPitch = kKMajor ? kPitch : 1;

  const TensorMap& map;
  int first_row, first_k;  // of the tile, in the matrix
  int matrix;              // of the batch, as the map counts
  const T* own;            // this thread's first element of the k_tile that is copied next
  long long row_step;      // elements from one of its memory rows to the next
  int rows_left;           // rows of the matrix from the tile's first row on, at most kRows

  __device__ __forceinline__ TmaOperand(const TensorMap& tensor_map, int in_batch, const T* source,
                                        long long ld, long long rows, long long row, long long k)
      : map(tensor_map),
        first_row(static_cast<int>(row)),
        first_k(static_cast<int>(k)),
        matrix(in_batch) {
    const long long memory_row = kKMajor ? row : k;
    own = source + (memory_row + own_row()) * ld + (kKMajor ? k : row) + own_column();
    row_step = ld * kRowStep;
    rows_left = rows - row < kRows ? static_cast<int>(rows - row) : kRows;
  }

  static __device__ __forceinline__ int own_row() {
    return (threadIdx.x - kFirstThread) / kNeighbours;
  }
  static __device__ __forceinline__ int own_column() {
    return (threadIdx.x - kFirstThread) % kNeighbours;
  }

  // Starts to copy a whole k_tile by TMA. One thread calls this.
  __device__ __forceinline__ void tma_load(T* to, int k_tile, Barrier* barrier) const {
    if (kByThreads) return;
    const int k = first_k + k_tile * BLOCK_K;
#if BATCHED
    tma_load_box(to, map, first_row, k, matrix, barrier);
#else
    tma_load_box(to, map, first_row, k, barrier);
#endif
  }

  // Starts this thread's copies of the next k_tile; k_left: elements of K that the matrix has from
  // the k_tile's first on. All producer threads call this.
  __device__ __forceinline__ void copy(T* to, int k_left) {
    if (!kByThreads) return;
    const int memory_rows_left = kKMajor ? rows_left : k_left;
    const int columns_left = (kKMajor ? k_left : rows_left) - own_column();
    const unsigned own_place =
        shared_address(to + own_row() * kRowPitch + own_column() * kColumnPitch);
    const T* from = own;
    if (kHasPathWithoutChecks && rows_left == kRows && k_left >= BLOCK_K) {
      // The compiler does not know the step, or it would keep an address for each row.
      long long step = row_step * static_cast<long long>(sizeof(T));
#pragma unroll kRowsAtOnce
      for (int row = 0; row < kMemoryRows; row += kRowStep) {
        copy_row<0, false>(own_place + 4 * row * kRowPitch, from, 0);
        from = reinterpret_cast<const T*>(reinterpret_cast<const char*>(from) + step);
        asm("" : "+l"(step));
      }
    } else {
#pragma unroll kCheckedRowsAtOnce
      for (int row = 0; row < kMemoryRows; row += kRowStep) {
        copy_row<0, true>(own_place + 4 * row * kRowPitch, from,
                          own_row() + row < memory_rows_left ? columns_left : 0);
        from += row_step;
      }
    }
    own = kKMajor ? own + BLOCK_K : from;
  }

 private:
  // Without aligned operands, threads make all copies, so that the checks cost most.
  static constexpr bool kHasPathWithoutChecks = !ALIGNED;
  static constexpr int kCheckedRowsAtOnce = kHasPathWithoutChecks ? 1 : kRowsAtOnce;

  // Copies this thread's elements of a memory row from kColumn on. With kChecked, zeros are stored
  // for those that are not among the first columns_left.
  template <int kColumn, bool kChecked>
  static __device__ __forceinline__ void copy_row(unsigned to, const T* from, int columns_left) {
    if constexpr (kColumn < kMemoryColumns) {
      constexpr int kTo = 4 * kColumn * kColumnPitch, kFrom = 4 * kColumn;
      if constexpr (kChecked) {
        cp_async_zfill<kTo, kFrom>(to, from, kColumn < columns_left);
      } else {
        cp_async_word<kTo, kFrom>(to, from);
      }
      copy_row<kColumn + kNeighbours, kChecked>(to, from, columns_left);
    }
  }
};

}  // namespace autotune_device

#endif
