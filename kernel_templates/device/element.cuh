// The element types and layouts of a kernel's operands, and the arithmetic on elements. They are
// macros of the compiler's command line: ELEMENT_A and ELEMENT_B of the operands, ELEMENT_C of the
// result, and ELEMENT_ACC of the sums, alpha and beta, all float by default; TRANSPOSE_A and
// TRANSPOSE_B are 1 where memory holds the transpose of op(A), of op(B); SCALARS_IN_MEMORY is 1
// where alpha and beta are passed as addresses.
#pragma once

#include "sixteen_bits.cuh"

#ifndef TRANSPOSE_A
#define TRANSPOSE_A 0
#endif
#ifndef TRANSPOSE_B
#define TRANSPOSE_B 0
#endif
#ifndef ELEMENT_A
#define ELEMENT_A float
#endif
#ifndef ELEMENT_B
#define ELEMENT_B float
#endif
#ifndef ELEMENT_C
#define ELEMENT_C float
#endif
#ifndef ELEMENT_ACC
#define ELEMENT_ACC float
#endif
#ifndef SCALARS_IN_MEMORY
#define SCALARS_IN_MEMORY 0
#endif

namespace autotune_device {

using ElementA = ELEMENT_A;
using ElementB = ELEMENT_B;
using ElementC = ELEMENT_C;
using Accumulator = ELEMENT_ACC;

// alpha or beta as a kernel's parameter, and its value.
#if SCALARS_IN_MEMORY
using Scalar = const Accumulator*;
__device__ __forceinline__ Accumulator value_of(Scalar scalar) {
  return *scalar;
}
#else
using Scalar = Accumulator;
__device__ __forceinline__ Accumulator value_of(Scalar scalar) {
  return scalar;
}
#endif

// An element as the sums have it, and a sum as an element.
template <typename T>
__device__ __forceinline__ Accumulator to_accumulator(T element) {
  return to_float(element);
}
template <>
__device__ __forceinline__ Accumulator to_accumulator<Accumulator>(Accumulator element) {
  return element;
}
template <typename T>
__device__ __forceinline__ T to_element(Accumulator value) {
  return from_float<T>(value);
}
template <>
__device__ __forceinline__ Accumulator to_element<Accumulator>(Accumulator value) {
  return value;
}

// Returns a * b + sum, rounded once. Another accumulator needs an overload here.
__device__ __forceinline__ float multiply_add(float a, float b, float sum) {
  return fmaf(a, b, sum);
}
__device__ __forceinline__ double multiply_add(double a, double b, double sum) {
  return fma(a, b, sum);
}

// Returns product + beta * previous. With beta == 0 the previous value has no influence.
__device__ __forceinline__ Accumulator scaled_result(Accumulator product, Accumulator beta,
                                                     Accumulator previous) {
  return beta == Accumulator(0) ? product : multiply_add(beta, previous, product);
}

// Stores one result: *to = product + beta * *to, where `product` is alpha times the sum.
// With beta == 0 the previous value of C is not read, so that NaN in it does no harm.
__device__ __forceinline__ void store_result(ElementC* to, Accumulator product, Accumulator beta) {
  const Accumulator result =
      beta == Accumulator(0) ? product : multiply_add(beta, to_accumulator(*to), product);
  *to = to_element<ElementC>(result);
}

}  // namespace autotune_device
