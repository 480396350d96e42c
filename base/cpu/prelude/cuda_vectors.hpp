// The vector types of CUDA C++, for kernels and for functions of the host.
#pragma once

#define AUTOTUNE_VECTORS(type, name, alignment2, alignment4)      \
  struct name##1 {                                                \
    type x;                                                       \
  };                                                              \
  struct alignas(alignment2) name##2 {                            \
    type x, y;                                                    \
  };                                                              \
  struct name##3 {                                                \
    type x, y, z;                                                 \
  };                                                              \
  struct alignas(alignment4) name##4 {                            \
    type x, y, z, w;                                              \
  };                                                              \
  inline name##1 make_##name##1(type x) {                         \
    return {x};                                                   \
  }                                                               \
  inline name##2 make_##name##2(type x, type y) {                 \
    return {x, y};                                                \
  }                                                               \
  inline name##3 make_##name##3(type x, type y, type z) {         \
    return {x, y, z};                                             \
  }                                                               \
  inline name##4 make_##name##4(type x, type y, type z, type w) { \
    return {x, y, z, w};                                          \
  }
AUTOTUNE_VECTORS(float, float, 8, 16)
AUTOTUNE_VECTORS(double, double, 16, 16)
AUTOTUNE_VECTORS(int, int, 8, 16)
AUTOTUNE_VECTORS(unsigned, uint, 8, 16)
AUTOTUNE_VECTORS(signed char, char, 2, 4)
AUTOTUNE_VECTORS(unsigned char, uchar, 2, 4)
AUTOTUNE_VECTORS(short, short, 4, 8)
AUTOTUNE_VECTORS(unsigned short, ushort, 4, 8)
AUTOTUNE_VECTORS(long long, longlong, 16, 16)
AUTOTUNE_VECTORS(unsigned long long, ulonglong, 16, 16)
#undef AUTOTUNE_VECTORS
