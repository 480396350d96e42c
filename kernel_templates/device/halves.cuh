// Elements of 16 bits, two in a word: how they are loaded from any address.
#pragma once

#include "element.cuh"
#include "vector.cuh"

namespace autotune_device {

// kCount neighbours, the one at the lower address in the lower half of each word.
template <int kCount>
using Halves = Vector<unsigned, maximum(kCount / 2, 1)>;

// Returns the value of one half of a word.
template <typename T>
__device__ __forceinline__ float value_of_half(unsigned word, int half) {
  return to_float(T{static_cast<unsigned short>(word >> 16 * half)});
}

#ifdef __CUDACC__

// Loads kCount elements that nobody writes meanwhile; the address must be a multiple of their size.
template <int kCount, typename T>
__device__ __forceinline__ Halves<kCount> load_halves(const T* from) {
  Halves<kCount> v;
  if constexpr (kCount == 8) {
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.at[0]), "=r"(v.at[1]), "=r"(v.at[2]), "=r"(v.at[3])
                 : "l"(from));
  } else if constexpr (kCount == 4) {
    asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(v.at[0]), "=r"(v.at[1]) : "l"(from));
  } else if constexpr (kCount == 2) {
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(v.at[0]) : "l"(from));
  } else {
    unsigned short half;
    asm volatile("ld.global.u16 %0, [%1];" : "=h"(half) : "l"(from));
    v.at[0] = half;
  }
  return v;
}

// The same for elements that this launch does not need again, if they exist; otherwise the words
// stay as they are. The loads of several calls are under way together.
template <int kCount, typename T>
__device__ __forceinline__ void load_halves_once(bool exist, const T* from, Halves<kCount>& v) {
  if constexpr (kCount == 8) {
    asm volatile(
        "{\n"
        ".reg .pred exist;\n"
        "setp.ne.s32 exist, %5, 0;\n"
        "@exist ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];\n"
        "}"
        : "+r"(v.at[0]), "+r"(v.at[1]), "+r"(v.at[2]), "+r"(v.at[3])
        : "l"(from), "r"(static_cast<int>(exist)));
  } else if constexpr (kCount == 4) {
    asm volatile(
        "{\n"
        ".reg .pred exist;\n"
        "setp.ne.s32 exist, %3, 0;\n"
        "@exist ld.global.L1::no_allocate.v2.u32 {%0, %1}, [%2];\n"
        "}"
        : "+r"(v.at[0]), "+r"(v.at[1])
        : "l"(from), "r"(static_cast<int>(exist)));
  } else {
    if (exist) v = load_halves<kCount>(from);
  }
}

__device__ __forceinline__ unsigned shift_right(unsigned low, unsigned high, unsigned bits) {
  return __funnelshift_r(low, high, bits);
}

#else

template <int kCount, typename T>
__device__ __forceinline__ Halves<kCount> load_halves(const T* from) {
  const auto v = load_vector<kCount>(from);
  Halves<kCount> result = {};
  for (int e = 0; e < kCount; ++e) {
    result.at[e / 2] |= static_cast<unsigned>(v.at[e].bits) << 16 * (e % 2);
  }
  return result;
}

template <int kCount, typename T>
__device__ __forceinline__ void load_halves_once(bool exist, const T* from, Halves<kCount>& v) {
  if (exist) v = load_halves<kCount>(from);
}

__device__ __forceinline__ unsigned shift_right(unsigned low, unsigned high, unsigned bits) {
  return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) >> bits);
}

#endif

// The two aligned vectors that cover kCount neighbours at any address: loaded first, and shifted
// when they are needed, so that the loads of several are under way together.
template <int kCount>
class Cover {
 public:
  template <typename T>
  __device__ __forceinline__ void load(const T* from) {
    shift = static_cast<unsigned>(reinterpret_cast<unsigned long long>(from) / sizeof(T)) % kCount;
    const T* const aligned = from - shift;
    low = load_halves<kCount>(aligned);
    if constexpr (kCount > 1) high = load_halves<kCount>(aligned + kCount);
  }

  __device__ __forceinline__ Halves<kCount> elements() const {
    if constexpr (kCount == 1) return low;
    constexpr int kWords = maximum(kCount / 2, 1);
    unsigned words[2 * kWords];
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      words[i] = low.at[i];
      words[kWords + i] = high.at[i];
    }
#pragma unroll
    for (int step = kWords / 2; step > 0; step /= 2) {
#pragma unroll
      for (int i = 0; i < kWords + step; ++i) {
        words[i] = shift & 2 * static_cast<unsigned>(step) ? words[i + step] : words[i];
      }
    }
    Halves<kCount> result;
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      result.at[i] = shift_right(words[i], words[i + 1], shift % 2 * 16);
    }
    return result;
  }

 private:
  Halves<kCount> low, high;
  unsigned shift;  // elements between the first aligned one and the first
};

}  // namespace autotune_device
