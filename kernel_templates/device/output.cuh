// The results of kernels of 16-bit operands: D = alpha * sums + beta * C, in FP32 until they are
// rounded once to the type of C.
#pragma once

#include "element.cuh"

namespace autotune_device {

struct Output {
  ElementC* c;
  long long ldc;
  Accumulator alpha, beta;

  // Returns the result at a place of C, not yet rounded. With beta == 0 the previous value of C is
  // not read, so that NaN in it does no harm.
  __device__ __forceinline__ Accumulator value(long long row, long long column,
                                               Accumulator sum) const {
    const Accumulator product = alpha * sum;
    if (beta == Accumulator(0)) return product;
    return multiply_add(beta, to_accumulator(c[row * ldc + column]), product);
  }
};

}  // namespace autotune_device
