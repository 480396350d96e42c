// Elements of any type as FP64 and back, without CUDA's headers. The two 16-bit types are structs
// of their own, so that a kernel's ELEMENT macro alone selects the type. Where this is compiled
// as plain C++, float_of_half() and half_of_float() are the includer's.

struct __nv_bfloat16 {
  unsigned short bits;
};
struct __half {
  unsigned short bits;
};

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
