// Numbers of 16 bits and their conversions. The types have the names of CUDA's headers, which NVRTC
// need not find. All conversions from FP32 round to nearest, ties to even.
#pragma once

namespace autotune_device {

struct __nv_bfloat16 {
  unsigned short bits;
};
struct __half {
  unsigned short bits;
};

#ifdef __CUDACC__

__device__ __forceinline__ float to_float(__nv_bfloat16 value) {
  return __uint_as_float(static_cast<unsigned>(value.bits) << 16);
}
__device__ __forceinline__ float to_float(__half value) {
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value.bits));
  return result;
}

// Two numbers in a word, the first in its low half.
template <typename T>
__device__ __forceinline__ unsigned from_floats(float first, float second);
template <>
__device__ __forceinline__ unsigned from_floats<__nv_bfloat16>(float first, float second) {
  unsigned word;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
  return word;
}
template <>
__device__ __forceinline__ unsigned from_floats<__half>(float first, float second) {
  unsigned word;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
  return word;
}

// The numbers of a word as FP32.
template <typename T>
__device__ __forceinline__ void to_floats(unsigned word, float& first, float& second) {
  first = to_float(T{static_cast<unsigned short>(word)});
  second = to_float(T{static_cast<unsigned short>(word >> 16)});
}
template <>
__device__ __forceinline__ void to_floats<__nv_bfloat16>(unsigned word, float& first,
                                                         float& second) {
  first = __uint_as_float(word << 16);
  second = __uint_as_float(word & 0xffff0000u);
}

template <typename T>
__device__ __forceinline__ T from_float(float value) {
  return T{static_cast<unsigned short>(from_floats<T>(value, 0.0f))};
}

#else

// Plain C++ need not know FP16: its bits are moved to those of FP32 and back.
inline float float_of_bits(unsigned bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
inline unsigned bits_of_float(float value) {
  unsigned bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}

inline float to_float(__nv_bfloat16 value) {
  return float_of_bits(static_cast<unsigned>(value.bits) << 16);
}
// The product moves the exponent's bias from FP16's to FP32's, for subnormal numbers too.
inline float to_float(__half value) {
  const unsigned magnitude = (value.bits & 0x7fffu) << 13;
  const bool is_finite = (value.bits & 0x7c00) != 0x7c00;
  const float number =
      is_finite ? float_of_bits(magnitude) * 0x1p112f : float_of_bits(magnitude | 0x7f800000);
  return (value.bits & 0x8000) != 0 ? -number : number;
}

template <typename T>
T from_float(float value);
template <>
inline __nv_bfloat16 from_float<__nv_bfloat16>(float value) {
  const unsigned bits = bits_of_float(value);
  if (value != value) return {0x7fc0};
  return {static_cast<unsigned short>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}
template <>
inline __half from_float<__half>(float value) {
  const unsigned sign = bits_of_float(value) >> 16 & 0x8000;
  const unsigned bits = bits_of_float(value) & 0x7fffffff;
  unsigned rounded = 0x7e00;  // NaN
  if (bits < 0x38800000) {    // below 2^-14: neighbouring numbers from 0.5 on are as far apart
    rounded = bits_of_float(float_of_bits(bits) + 0.5f) - 0x3f000000;
  } else if (bits < 0x477ff000) {
    rounded = (bits - 0x38000000 + 0xfff + (bits >> 13 & 1)) >> 13;
  } else if (bits <= 0x7f800000) {
    rounded = 0x7c00;
  }
  return {static_cast<unsigned short>(sign | rounded)};
}

#endif

}  // namespace autotune_device
