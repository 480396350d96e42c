// Elements of any type as FP64 and back, without CUDA's headers. The two 16-bit types are structs
// of their own, so that a kernel's ELEMENT macro alone selects the type.

struct __nv_bfloat16 {
  unsigned short bits;
};
struct __half {
  unsigned short bits;
};

#ifndef __CUDACC__
// Conversions for plain C++, where the compiler need not know FP16.
inline float float_of_half(unsigned short bits) {
  const unsigned magnitude = (bits & 0x7fffu) << 13;
  const bool is_finite = (bits & 0x7c00) != 0x7c00;
  // The product moves the exponent's bias from FP16's to FP32's, for subnormal numbers too.
  const float value =
      is_finite ? __uint_as_float(magnitude) * 0x1p112f : __uint_as_float(magnitude | 0x7f800000);
  return (bits & 0x8000) != 0 ? -value : value;
}
inline unsigned short half_of_float(float value) {
  const unsigned sign = __float_as_uint(value) >> 16 & 0x8000;
  const unsigned bits = __float_as_uint(value) & 0x7fffffff;
  unsigned rounded = 0x7e00;  // NaN
  if (bits < 0x38800000) {    // below 2^-14: neighbouring numbers from 0.5 on are as far apart
    rounded = __float_as_uint(__uint_as_float(bits) + 0.5f) - 0x3f000000;
  } else if (bits < 0x477ff000) {
    rounded = (bits - 0x38000000 + 0xfff + (bits >> 13 & 1)) >> 13;
  } else if (bits <= 0x7f800000) {
    rounded = 0x7c00;
  }
  return static_cast<unsigned short>(sign | rounded);
}
#endif

__device__ __forceinline__ double to_double(double value) {
  return value;
}
__device__ __forceinline__ double to_double(float value) {
  return static_cast<double>(value);
}
__device__ __forceinline__ double to_double(__nv_bfloat16 value) {
  return static_cast<double>(__uint_as_float(static_cast<unsigned>(value.bits) << 16));
}
__device__ __forceinline__ double to_double(__half value) {
#ifdef __CUDACC__
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value.bits));
#else
  const float result = float_of_half(value.bits);
#endif
  return static_cast<double>(result);
}

// Integers, which are rounded to the nearest FP64 number. `equal` tells those of 64 bits apart that
// are rounded to the same.
#define INTEGER_ELEMENT(type)                                                \
  __device__ __forceinline__ double to_double(type value) {                  \
    return static_cast<double>(value);                                       \
  }                                                                          \
  __device__ __forceinline__ void from_double(double value, type& element) { \
    element = static_cast<type>(static_cast<long long>(rint(value)));        \
  }                                                                          \
  __device__ __forceinline__ bool equal(type a, type b) {                    \
    return a == b;                                                           \
  }
INTEGER_ELEMENT(signed char)
INTEGER_ELEMENT(unsigned char)
INTEGER_ELEMENT(short)
INTEGER_ELEMENT(unsigned short)
INTEGER_ELEMENT(int)
INTEGER_ELEMENT(long long)
INTEGER_ELEMENT(unsigned long long)
#undef INTEGER_ELEMENT

// Real numbers are compared by their values.
template <typename T>
__device__ __forceinline__ bool equal(const T&, const T&) {
  return true;
}

// Rounds to nearest even.
__device__ __forceinline__ void from_double(double value, double& element) {
  element = value;
}
__device__ __forceinline__ void from_double(double value, float& element) {
  element = static_cast<float>(value);
}
__device__ __forceinline__ void from_double(double value, __nv_bfloat16& element) {
  const unsigned bits = __float_as_uint(static_cast<float>(value));
  const bool is_number = value == value;
  element.bits = is_number ? static_cast<unsigned short>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)
                           : static_cast<unsigned short>(0x7fc0);
}
__device__ __forceinline__ void from_double(double value, __half& element) {
#ifdef __CUDACC__
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(element.bits) : "f"(static_cast<float>(value)));
#else
  element.bits = half_of_float(static_cast<float>(value));
#endif
}
