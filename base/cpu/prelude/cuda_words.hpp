// More words of CUDA C++, which kernels of users often need: atomic functions, and mathematics by the
// C library. Put behind cuda_intrinsics.hpp.
#pragma once

// The functions of one argument that CUDA and the C library have under one name, for each type.
#define AUTOTUNE_FUNCTION(name)             \
  extern "C" float name##f(float) noexcept; \
  extern "C" double name(double) noexcept;  \
  inline float name(float value) {          \
    return name##f(value);                  \
  }
AUTOTUNE_FUNCTION(sqrt)
AUTOTUNE_FUNCTION(cbrt)
AUTOTUNE_FUNCTION(exp)
AUTOTUNE_FUNCTION(exp2)
AUTOTUNE_FUNCTION(expm1)
AUTOTUNE_FUNCTION(log)
AUTOTUNE_FUNCTION(log2)
AUTOTUNE_FUNCTION(log10)
AUTOTUNE_FUNCTION(log1p)
AUTOTUNE_FUNCTION(sin)
AUTOTUNE_FUNCTION(cos)
AUTOTUNE_FUNCTION(tan)
AUTOTUNE_FUNCTION(asin)
AUTOTUNE_FUNCTION(acos)
AUTOTUNE_FUNCTION(atan)
AUTOTUNE_FUNCTION(sinh)
AUTOTUNE_FUNCTION(cosh)
AUTOTUNE_FUNCTION(tanh)
AUTOTUNE_FUNCTION(erf)
AUTOTUNE_FUNCTION(floor)
AUTOTUNE_FUNCTION(ceil)
AUTOTUNE_FUNCTION(trunc)
AUTOTUNE_FUNCTION(round)
#undef AUTOTUNE_FUNCTION

#define AUTOTUNE_FUNCTION(name)                    \
  extern "C" float name##f(float, float) noexcept; \
  extern "C" double name(double, double) noexcept; \
  inline float name(float a, float b) {            \
    return name##f(a, b);                          \
  }
AUTOTUNE_FUNCTION(pow)
AUTOTUNE_FUNCTION(fmod)
AUTOTUNE_FUNCTION(hypot)
AUTOTUNE_FUNCTION(atan2)
AUTOTUNE_FUNCTION(fmin)
AUTOTUNE_FUNCTION(fmax)
#undef AUTOTUNE_FUNCTION

extern "C" float fabsf(float) noexcept;
extern "C" float rintf(float) noexcept;
extern "C" int abs(int) noexcept;

inline float rsqrtf(float value) {
  return 1 / sqrtf(value);
}
inline double rsqrt(double value) {
  return 1 / sqrt(value);
}

// The fast ones of a GPU differ by a few units in the last place; here they are exact.
inline float __expf(float value) {
  return expf(value);
}
inline float __logf(float value) {
  return logf(value);
}
inline float __sinf(float value) {
  return sinf(value);
}
inline float __cosf(float value) {
  return cosf(value);
}
inline float __powf(float base, float exponent) {
  return powf(base, exponent);
}
inline float __fdividef(float a, float b) {
  return a / b;
}

template <typename A, typename B>
auto min(A a, B b) -> decltype(a + b) {
  return b < a ? b : a;
}
template <typename A, typename B>
auto max(A a, B b) -> decltype(a + b) {
  return a < b ? b : a;
}
inline float min(float a, float b) {
  return fminf(a, b);
}
inline float max(float a, float b) {
  return fmaxf(a, b);
}
inline double min(double a, double b) {
  return fmin(a, b);
}
inline double max(double a, double b) {
  return fmax(a, b);
}

template <typename T>
T __ldg(const T* address) {
  return *address;
}
#define __threadfence() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define __threadfence_block() __threadfence()

// Replaces the element by a function of it, and returns what it was. Blocks run at the same time.
template <typename T, typename Function>
T autotune_replace(T* address, Function function) {
  T before = *address;
#ifdef AUTOTUNE_TRACED  // one block runs
  *address = function(before);
#else
  T after = function(before);
  while (!__atomic_compare_exchange(address, &before, &after, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED)) {
    after = function(before);
  }
#endif
  return before;
}

#define AUTOTUNE_ATOMIC(name, type, result)                                         \
  inline type name(type* address, type value) {                                     \
    return autotune_replace(address, [value](type old) -> type { return result; }); \
  }
#define AUTOTUNE_ATOMICS(type)                                                               \
  AUTOTUNE_ATOMIC(atomicAdd, type, old + value)                                              \
  AUTOTUNE_ATOMIC(atomicExch, type, (static_cast<void>(old), value))                         \
  AUTOTUNE_ATOMIC(atomicMin, type, value < old ? value : old)                                \
  AUTOTUNE_ATOMIC(atomicMax, type, old < value ? value : old)                                \
  AUTOTUNE_ATOMIC(atomicAnd, type, old& value)                                               \
  AUTOTUNE_ATOMIC(atomicOr, type, old | value)                                               \
  AUTOTUNE_ATOMIC(atomicXor, type, old ^ value)                                              \
  inline type atomicCAS(type* address, type compare, type value) {                           \
    return autotune_replace(address,                                                         \
                            [=](type old) -> type { return old == compare ? value : old; }); \
  }
AUTOTUNE_ATOMICS(int)
AUTOTUNE_ATOMICS(unsigned)
AUTOTUNE_ATOMICS(unsigned long long)
AUTOTUNE_ATOMIC(atomicSub, int, old - value)
AUTOTUNE_ATOMIC(atomicSub, unsigned, old - value)
AUTOTUNE_ATOMIC(atomicAdd, float, old + value)
AUTOTUNE_ATOMIC(atomicAdd, double, old + value)
AUTOTUNE_ATOMIC(atomicExch, float, (static_cast<void>(old), value))
#undef AUTOTUNE_ATOMICS
#undef AUTOTUNE_ATOMIC
