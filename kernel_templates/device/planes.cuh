// FP32 operands as planes of FP16, for kernels that multiply them with tensor cores
// (compute capability 9.0). Each row of op(A) and each column of op(B) is scaled by a power of two
// that brings its greatest magnitude to [2^14, 2^15). For kernels with three products it is then
// split into FP16:
//   x = (high + 2^-12 * low) * 2^exponent, with 22 bits of x
// for elements down to 2^-29 of the greatest magnitude; the error of smaller ones is at most 2^-51
// of it. Kernels with one product have the plane `high` alone, with 11 bits of x for elements down
// to 2^-28 of the greatest magnitude; the error of smaller ones is at most 2^-39 of it. Elements
// that lost bits are counted: a row with many of them is not to be computed from its planes (see
// last_split), and neither is one with an infinity or NaN.
// With a short K, all elements below 2^-10 of the greatest magnitude are counted (has_even_rows).
// Plain C++ compilers see an empty header.
//
// The kernel defines PRODUCTS before it includes this file: the products of planes, 1 or 3, that
// it computes for one of FP32.
#pragma once

#include "barrier.cuh"

#ifdef __CUDACC__

namespace autotune_device {

constexpr int kPlanes = PRODUCTS == 1 ? 1 : 2;  // of an operand
constexpr int kPlaneK = 64;                     // elements of K in a k_tile
constexpr int kSplitThreads = 256;              // of a block, at most
constexpr int kSplitBlocks = 8;                 // of a cluster
constexpr float kLowScale = 0x1p-12F;           // of the plane `low`
// The word of a row: its exponent plus kExponentBias, above that the number of its elements that
// lost bits, and kNotFinite if it has an infinity or NaN.
constexpr unsigned kExponentBits = 10;
constexpr int kExponentBias = 512;
constexpr unsigned kNotFinite = 1U << 31;

__device__ __forceinline__ int exponent_of(unsigned word) {
  return static_cast<int>(word % (1U << kExponentBits)) - kExponentBias;
}
// Returns whether the magnitudes in a row must differ little: where K is short, a sum may be nearly
// one product, which FP32 computes with a smaller error than three products of planes do.
__device__ __forceinline__ bool has_even_rows(unsigned k) {
  return PRODUCTS == 3 && k < 128;
}
// Returns the greatest word of a row that its planes hold: at most one element of 64 is counted, of
// 16 where rows have to be even. k < 2^21.
__device__ __forceinline__ unsigned last_split(unsigned k) {
  return ((k / (has_even_rows(k) ? 16 : 64) + 1) << kExponentBits) - 1;
}

// The planes of one operand, seen as a matrix whose rows run along K. A plane is what shared memory
// is to hold: k_tile by k_tile all rows, with 64 elements (128 bytes) each, whose vectors of 16
// bytes are in the order of the 128-byte swizzle. Any rows from a multiple of 8 on are therefore
// one contiguous piece. Beyond K there are zeros; beyond the rows anything.
struct Planes {
  unsigned* words;       // of the rows; 256 more may be read behind the last
  unsigned short* high;  // the plane `low` is plane_elements() behind it
  unsigned rows, k_tiles;

  __device__ __forceinline__ Planes(void* memory, long long rows_of_operand, long long k)
      : words(static_cast<unsigned*>(memory)),
        rows(static_cast<unsigned>(rows_of_operand)),
        k_tiles((static_cast<unsigned>(k) - 1) / kPlaneK + 1) {
    // The compiler would compute with 64 bits.
    asm("" : "+r"(rows), "+r"(k_tiles));
    high = reinterpret_cast<unsigned short*>(words + (rows + 511) / 256 * 256);
  }
  __device__ __forceinline__ long long k_tile_elements() const {
    return static_cast<long long>(stored_rows()) * kPlaneK;
  }
  __device__ __forceinline__ long long plane_elements() const {
    return static_cast<long long>(stored_rows()) * k_tiles * kPlaneK;
  }
  __device__ __forceinline__ void* end() const { return high + kPlanes * plane_elements(); }

  // Returns an element's place in a plane.
  __device__ __forceinline__ long long place(unsigned row, unsigned k) const {
    const long long line = static_cast<long long>(k / kPlaneK) * stored_rows() + row;
    return line * kPlaneK + ((k / 8 ^ row) % 8) * 8 + k % 8;
  }

 private:
  __device__ __forceinline__ unsigned stored_rows() const { return (rows + 7) / 8 * 8; }
};

// The planes of both operands: those that were prepared before, else in `memory`, where each has a
// place in any case.
struct OperandPlanes {
  Planes a, b;
  void* end;  // of both places

  // prepared_a, prepared_b: planes that were prepared before, or nullptr.
  __device__ __forceinline__ OperandPlanes(void* memory, void* prepared_a, void* prepared_b,
                                           long long m, long long n, long long k)
      : a(memory, m, k), b(a.end(), n, k), end(b.end()) {
    if (prepared_a != nullptr) a = Planes(prepared_a, m, k);
    if (prepared_b != nullptr) b = Planes(prepared_b, n, k);
  }
};

// Rounds two values to FP16, in one word.
__device__ __forceinline__ unsigned pack2(float first, float second) {
  unsigned packed;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(second), "f"(first));
  return packed;
}
__device__ __forceinline__ void unpack2(unsigned packed, float& first, float& second) {
  asm("{\n.reg .f16 x, y;\nmov.b32 {x, y}, %2;\ncvt.f32.f16 %0, x;\ncvt.f32.f16 %1, y;\n}"
      : "=f"(first), "=f"(second)
      : "r"(packed));
}

// Splits two scaled values into one word of each plane.
__device__ __forceinline__ void split2(float x, float y, unsigned (&words)[kPlanes]) {
#pragma unroll
  for (int plane = 0; plane < kPlanes; ++plane) {
    words[plane] = pack2(x, y);
    float rounded_x, rounded_y;
    unpack2(words[plane], rounded_x, rounded_y);
    x = (x - rounded_x) / kLowScale;
    y = (y - rounded_y) / kLowScale;
  }
}

// Stores words of a plane with one instruction. The compiler stores the members of such vectors one
// by one, which takes an access of the L2 cache for each.
__device__ __forceinline__ void store_words(unsigned short* to, uint2 words) {
  asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(to), "r"(words.x), "r"(words.y));
}
__device__ __forceinline__ void store_words(unsigned short* to, uint4 words) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(words.x), "r"(words.y),
               "r"(words.z), "r"(words.w));
}

__device__ __forceinline__ float power_of_two(int exponent) {  // -126 to 127
  return __uint_as_float(static_cast<unsigned>(exponent + 127) << 23);
}

// The magnitude of a value as a number that grows with it; infinities and NaN are greatest.
__device__ __forceinline__ unsigned magnitude(float x) {
  return __float_as_uint(x) & 0x7fffffffU;
}
constexpr unsigned kInfinite = 0x7f800000;  // of an infinity
// A number that grows with the magnitude of a value, but is greatest for 0.
__device__ __forceinline__ unsigned order_of(float x) {
  return 2 * __float_as_uint(x) - 1;
}
// Returns the exponent of the scale of a row with this greatest magnitude. A row of zeros has the
// scale 1, which the epilogue takes as moderate.
__device__ __forceinline__ int scale_exponent(unsigned greatest) {
  if (greatest == 0) return 0;
  const int exponent = static_cast<int>(greatest >> 23) - 127;
  constexpr int kScaled = 14;
  return exponent < kScaled - 126 ? 126 : kScaled - exponent;
}
// Returns the word of such a row if no element lost bits.
__device__ __forceinline__ unsigned word_of(unsigned greatest) {
  if (greatest >= kInfinite) return kNotFinite;
  return static_cast<unsigned>(kExponentBias - scale_exponent(greatest));
}
// Returns the limit of order_of() below which an element of a row is counted. Two planes hold 22
// bits of the elements from there on, and one plane 11. With the greatest scale, no element has more
// bits than the planes.
__device__ __forceinline__ unsigned count_limit(float scale, unsigned k) {
  constexpr float kLeast = kPlanes == 1 ? 0x1p-14f : 0x1p-15f;
  const float scaled = has_even_rows(k) ? 0x1p4f : scale == 0x1p126f ? 0 : kLeast;
  // The limit is compared with elements that are not scaled, because the scale turns the smallest
  // ones into zeros, which are not counted.
  const float least = scaled * __uint_as_float(0x7f000000U - __float_as_uint(scale));
  return least == 0 ? 0 : order_of(least);
}
// Returns whether neighbours can be loaded by vectors of 4.
__device__ __forceinline__ bool is_wide(const float* source, long long ld) {
  return ld % 4 == 0 && reinterpret_cast<unsigned long long>(source) % 16 == 0;
}
// Loads 4 neighbours at a multiple of 16 bytes, of which `left` are there; the others are 0. The L2
// cache gives up what is read before the planes that are stored.
__device__ __forceinline__ float4 load4(const float* from, int left) {
  if (left >= 4) return __ldcs(reinterpret_cast<const float4*>(from));
  return {left > 0 ? from[0] : 0, left > 1 ? from[1] : 0, left > 2 ? from[2] : 0, 0};
}
// Loads 4 elements that are `step` apart, of which `left` are there; the others are 0. Where a warp
// has all of them, it takes one branch instead of four predicates.
template <typename Step>
__device__ __forceinline__ float4 load4_apart(const float* from, Step step, int left) {
  if (left >= 4) {
    return {__ldcs(from), __ldcs(from + step), __ldcs(from + 2 * step), __ldcs(from + 3 * step)};
  }
  return {left > 0 ? __ldcs(from) : 0, left > 1 ? __ldcs(from + step) : 0,
          left > 2 ? __ldcs(from + 2 * step) : 0, 0};
}

}  // namespace autotune_device

#endif
