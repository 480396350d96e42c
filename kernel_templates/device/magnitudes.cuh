// The magnitudes in rows of operands: they tell which results three products of TF32 suffice for.
#pragma once

#include "mma.cuh"
#include "vector.cuh"

namespace autotune_device {

// The least magnitude that has a low part.
constexpr float kLeastSplit = 0x1p-100f;

// Returns nearly log2(to / from). Both are at least 0.
__device__ __forceinline__ float octaves_between(float from, float to) {
  return static_cast<float>(static_cast<int>(bits_of(to) - bits_of(from))) * 0x1p-23f;
}

// The magnitudes in op(A)'s rows or op(B)'s columns, here called rows: they tell which results
// three products suffice for. The kThreads threads of a block share the rows. They read what the
// multiplication reads too, but each element once in a block.
//
// A row's unevenness is the logarithm to base 2 of its greatest magnitude divided by a typical one:
// the mean with exponent 1/4 of all but the greatest, which neither zeros nor a few other large
// elements change much. A quarter of a float's bits is a float near its fourth root, times a
// constant, and the difference of two floats' bits is near that of their logarithms.
template <typename Operand, int kThreads>
struct Magnitudes {
  static constexpr int kRows = Operand::kRows;
  static constexpr int kOwn = 8 * kRows / kThreads;  // of 8 elements of a row
  static constexpr int kShared = 3 * kThreads;       // floats
  static constexpr float kBoundless = 1000;
  static_assert(kThreads % kRows == 0 && kOwn >= 2);

  unsigned greatest = 0;  // fourth root
  float roots = 0;        // their sum

  static __device__ __forceinline__ int first() {
    const int thread = static_cast<int>(threadIdx.x);
    return Operand::offset(thread % kRows, thread / kRows * kOwn);
  }
  // Adds the thread's elements of 8 k. from: the first of them. `least` becomes 2 * the bits of the
  // least magnitude except 0, minus 1. A thread has one of both operands, to save a register.
  __device__ __forceinline__ void add(const float* from, unsigned& least) {
    constexpr int kWidth = Operand::kKMajor ? minimum(kOwn, 4) : 1;
#pragma unroll
    for (int k = 0; k < kOwn; k += kWidth) {
      const auto x = load_vector<kWidth>(from + Operand::offset(0, k));
#pragma unroll
      for (int i = 0; i < kWidth; ++i) add(x.at[i], least);
    }
  }
  __device__ __forceinline__ void add(float x, unsigned& least) {
    const unsigned bits = 2 * bits_of(x);
    const unsigned root = bits >> 3;
    greatest = root > greatest ? root : greatest;
    roots += float_of(root);
    least = bits - 1 < least ? bits - 1 : least;
  }

  __device__ __forceinline__ void put(float* shared, unsigned least) const {
    shared += threadIdx.x;
    shared[0] = float_of(greatest);
    shared[kThreads] = roots;
    shared[2 * kThreads] = float_of(least);
  }
  // Stores the unevenness of all rows, of k_count elements each, after all threads have put theirs.
  static __device__ __forceinline__ void put_unevenness(const float* shared, int k_count,
                                                        float* unevenness) {
    if (threadIdx.x >= kRows) return;
    Magnitudes row;
    unsigned least = ~0U;
#pragma unroll
    for (int i = 0; i < kThreads; i += kRows) {
      const float* const part = shared + threadIdx.x + i;
      const unsigned greatest_of_part = bits_of(part[0]);
      const unsigned least_of_part = bits_of(part[2 * kThreads]);
      row.greatest = greatest_of_part > row.greatest ? greatest_of_part : row.greatest;
      row.roots += part[kThreads];
      least = least_of_part < least ? least_of_part : least;
    }
    const float greatest_root = float_of(row.greatest);
    const float typical =
        k_count > 1 ? (row.roots - greatest_root) / static_cast<float>(k_count - 1) : greatest_root;
    const bool is_split = least >= 2 * bits_of(kLeastSplit) - 1;
    unevenness[threadIdx.x] = is_split ? octaves_between(typical, greatest_root) * 4 : kBoundless;
  }
};

// Returns the greatest sum of a row's unevenness and a column's for which three products suffice.
// Beyond it a product may be 2^21 times what k typical ones of random signs add up to, so that FP32
// has few rounding errors besides that product's own.
__device__ __forceinline__ float unevenness_limit(long long k) {
  return 21 + octaves_between(1, static_cast<float>(k)) / 2;
}

}  // namespace autotune_device
