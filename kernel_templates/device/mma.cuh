// Matrix instructions of a warp with TF32 operands in registers (mma.sync m16n8k8, compute
// capability 8.0). The CPU device computes what they do, with sums that are rounded once.
#pragma once

namespace autotune_device {

// TF32 has FP32's exponent and the first 10 bits of its fraction. Matrix instructions ignore the 13
// bits behind them.
constexpr unsigned kTf32Ignored = 0x1fffU;

#ifdef __CUDACC__

__device__ __forceinline__ unsigned bits_of(float x) {
  return __float_as_uint(x);
}
__device__ __forceinline__ float float_of(unsigned bits) {
  return __uint_as_float(bits);
}
// Rounds to the nearest TF32 value, halves away from zero.
__device__ __forceinline__ unsigned round_to_tf32(float x) {
  unsigned rounded;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(x));
  return rounded;
}

#else

__device__ __forceinline__ unsigned bits_of(float x) {
  return __builtin_bit_cast(unsigned, x);
}
__device__ __forceinline__ float float_of(unsigned bits) {
  return __builtin_bit_cast(float, bits);
}
__device__ __forceinline__ unsigned round_to_tf32(float x) {
  constexpr unsigned kExponent = 0x7f800000U;
  const unsigned bits = bits_of(x);
  return ((bits & kExponent) != kExponent ? bits + (kTf32Ignored + 1) / 2 : bits) & ~kTf32Ignored;
}

#endif

// Returns the part of an element that TF32 holds. It rounds like round_to_tf32(), but turns some
// NaN into numbers. The rest, x minus this part, is NaN for all NaN and infinities.
__device__ __forceinline__ float high_tf32(float x) {
  return float_of((bits_of(x) + (kTf32Ignored + 1) / 2) & ~kTf32Ignored);
}

__device__ __forceinline__ bool is_finite(float x) {
  constexpr unsigned kExponent = 0x7f800000U;
  return (bits_of(x) & kExponent) != kExponent;
}

// The elements of op(A) or op(B) that a lane holds of 8 k: those at k = lane % 4 and 4 further. A
// lane has the rows lane / 4 and 8 further of A in turn, and the column lane / 4 of B.
template <int kCount>
struct Fragment {
  unsigned at[kCount];
};

// Adds the products of 16 rows, 8 columns and 8 k to the warp's sums. A lane's sums are the columns
// 2 * (lane % 4) and 1 further, first of the row lane / 4, then of the row 8 further. All kThreads
// threads of the block call this together.
template <int kThreads>
__device__ __forceinline__ void mma_tf32(float* sums, const Fragment<4>& a, const Fragment<2>& b) {
#ifdef __CUDACC__
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a.at[0]), "r"(a.at[1]), "r"(a.at[2]), "r"(a.at[3]), "r"(b.at[0]), "r"(b.at[1]));
#else
  __shared__ Fragment<4> all_a[kThreads];
  __shared__ Fragment<2> all_b[kThreads];
  __syncthreads();
  all_a[threadIdx.x] = a;
  all_b[threadIdx.x] = b;
  __syncthreads();
  const unsigned lane = threadIdx.x % 32;
  const unsigned first = threadIdx.x - lane;
  for (unsigned i = 0; i < 4; ++i) {
    double sum = sums[i];
    for (unsigned k = 0; k < 8; ++k) {
      const unsigned of_a = all_a[first + lane / 4 * 4 + k % 4].at[i / 2 + k / 4 * 2];
      const unsigned of_b = all_b[first + (lane % 4 * 2 + i % 2) * 4 + k % 4].at[k / 4];
      sum += static_cast<double>(float_of(of_a & ~kTf32Ignored)) *
             static_cast<double>(float_of(of_b & ~kTf32Ignored));
    }
    sums[i] = static_cast<float>(sum);
  }
#endif
}

}  // namespace autotune_device
