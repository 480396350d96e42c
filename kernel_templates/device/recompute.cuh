// Results that operands on tensor cores cannot give, in FP32: one chain of multiply-adds over K.
#pragma once

#include "element.cuh"

namespace autotune_device {

// The rows of op(A), or the columns of op(B), from a lane's first one on.
struct ChainOperand {
  const float* at;         // the first one's element of the next k
  long long to_row, to_k;  // how far the next row and the next k are
  int first, rows;         // the first one's number, and how many there are in all
};

// Adds the products of all k to a lane's sums as mma_tf32() has them: those of two rows, 8 apart,
// and two neighbours of every 8 columns.
template <typename Count, int kCount>
__device__ __forceinline__ void add_chains(ChainOperand a, ChainOperand b, Count k,
                                           float (&sums)[kCount]) {
#pragma unroll 1
  for (Count left = k; left > 0; --left) {
    float of_a[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) of_a[h] = a.first + 8 * h < a.rows ? a.at[8 * h * a.to_row] : 0;
#pragma unroll
    for (int i = 0; i < kCount / 2; ++i) {
      const int offset = i / 2 * 8 + i % 2;
      const float of_b = b.first + offset < b.rows ? b.at[offset * b.to_row] : 0;
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        float& sum = sums[i / 2 * 4 + 2 * h + i % 2];
        sum = multiply_add(of_a[h], of_b, sum);
      }
    }
    a.at += a.to_k;
    b.at += b.to_k;
  }
}

}  // namespace autotune_device
