// The sums of a tile with few rows or few columns, which matrix instructions of a warpgroup
// computed: the blocks of a cluster, which have parts of K, add them through their shared memory,
// and store the results in the order in which C has them (compute capability 9.0). Plain C++
// compilers see an empty header.
#pragma once

#include "barrier.cuh"
#include "element.cuh"
#include "output.cuh"
#include "vector.cuh"

#ifdef __CUDACC__

namespace autotune_device {

// kLines lines were the rows of the matrix instructions, 64 for each 128 threads, and kFew lines of
// the other side the columns.
//   kFewRows  the few lines are rows of C; otherwise columns
template <bool kFewRows, int kFew, int kLines>
struct SkinnySums {
  static constexpr int kThreads = 2 * kLines;
  static constexpr int kSums = kFew / 2;  // of a thread
  // Elements from one row of C to the next: lanes that store sums then use all banks evenly.
  static constexpr int kPitch = kFewRows ? kLines + 4 : kFew == 8 ? 8 : kFew + 8;
  static constexpr int kBytes = 4 * (kFewRows ? kFew : kLines) * kPitch;

  unsigned char* memory;  // kBytes, the buffers of the products

  // Waits for all threads that have sums.
  __device__ __forceinline__ void sync() const {
    asm volatile("bar.sync 1, %0;" ::"n"(kThreads) : "memory");
  }

  // Stores this thread's sums: those of two lines, 8 apart, and two neighbours of every 8 few
  // lines. All threads that have sums call this when all matrix instructions of their own are
  // complete.
  __device__ __forceinline__ void put(const float (&sums)[kSums]) const {
    sync();  // other warps' instructions may still read the buffers
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int line = static_cast<int>(threadIdx.x / 32) * 16 + lane / 4;
    const int few = lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < kSums; i += 2) {
      const int at_line = line + i % 4 * 4, at_few = few + i / 4 * 8;
      if constexpr (kFewRows) {
        *place(at_few, at_line) = sums[i];
        *place(at_few + 1, at_line) = sums[i + 1];
      } else {
        store_vector<2>(place(at_line, at_few), Vector<float, 2>{{sums[i], sums[i + 1]}});
      }
    }
  }

  // Adds the sums that all blocks of the cluster have put, in the order of K, and stores the
  // results of this block's part of the lines. `line`, `few`: the tile's first. All threads that
  // have sums call this.
  __device__ __forceinline__ void store(const Output& output, long long m, long long n,
                                        long long line, long long few) const {
    const bool has_vectors = (reinterpret_cast<unsigned long long>(output.c) |
                              static_cast<unsigned long long>(output.ldc) * sizeof(ElementC)) %
                                 (kWidth * sizeof(ElementC)) ==
                             0;
    constexpr int kVectors = kPartLines * kFew / kWidth;
#pragma unroll
    for (int first = 0; first < kVectors; first += kThreads) {
      const int vector = first + static_cast<int>(threadIdx.x);
      if (kVectors % kThreads != 0 && vector >= kVectors) return;
      const int part = static_cast<int>(blockIdx.x % CLUSTER_K) * kPartLines;
      int at_row, at_column;
      if constexpr (kFewRows) {
        at_row = vector / (kPartLines / kWidth);
        at_column = part + vector % (kPartLines / kWidth) * kWidth;
      } else {
        at_row = part + vector / (kFew / kWidth);
        at_column = vector % (kFew / kWidth) * kWidth;
      }
      const long long row = (kFewRows ? few : line) + at_row;
      const long long column = (kFewRows ? line : few) + at_column;
      if (row >= m || column >= n) continue;
      const Vector<float, kWidth> sums = add(shared_address(place(at_row, at_column)));
      store_results(output, row, column, sums, n, has_vectors);
    }
  }

 private:
  static constexpr int kWidth = 4;                       // of the vectors of sums
  static constexpr int kPartLines = kLines / CLUSTER_K;  // that a block stores
  static_assert(kPartLines % kWidth == 0, "a block stores whole vectors");

  __device__ __forceinline__ float* place(int row, int column) const {
    return reinterpret_cast<float*>(memory) + row * kPitch + column;
  }

  static __device__ __forceinline__ Vector<float, kWidth> add(unsigned from) {
    Vector<float, kWidth> parts[CLUSTER_K];
#pragma unroll
    for (int block = 0; block < CLUSTER_K; ++block) {
      const unsigned at = CLUSTER_K > 1 ? cluster_address(from, block) : from;
      float(&part)[kWidth] = parts[block].at;
      asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                   : "=f"(part[0]), "=f"(part[1]), "=f"(part[2]), "=f"(part[3])
                   : "r"(at)
                   : "memory");
    }
#pragma unroll
    for (int block = 1; block < CLUSTER_K; ++block) {
#pragma unroll
      for (int i = 0; i < kWidth; ++i) parts[0].at[i] += parts[block].at[i];
    }
    return parts[0];
  }

  // Stores results of a row from a column on that it has.
  static __device__ __forceinline__ void store_results(const Output& output, long long row,
                                                       long long column,
                                                       const Vector<float, kWidth>& sums,
                                                       long long n, bool has_vectors) {
    ElementC* const to = output.c + row * output.ldc + column;
    Vector<ElementC, kWidth> results;
    if (has_vectors && column + kWidth <= n) {
#pragma unroll
      for (int i = 0; i < kWidth; ++i) {
        results.at[i] = to_element<ElementC>(output.value(row, column + i, sums.at[i]));
      }
      store_vector<kWidth>(to, results);
    } else {
#pragma unroll
      for (int i = 0; i < kWidth; ++i) {
        if (column + i < n) {
          to[i] = to_element<ElementC>(output.value(row, column + i, sums.at[i]));
        }
      }
    }
  }
};

}  // namespace autotune_device

#endif
