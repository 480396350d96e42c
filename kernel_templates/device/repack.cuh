// Operands of 16-bit elements whose lines begin anywhere, copied to lines that begin at multiples
// of 64 bytes. A kernel that prepares operands copies them to the workspace; the kernel that it
// prepares reads them there.
#pragma once

#include "batch.cuh"
#include "element.cuh"
#include "sync.cuh"
#include "vector.cuh"

namespace autotune_device {

// One operand of all products: a product's matrix has `lines` lines of `length` neighbours.
template <typename T>
struct Operand16 {
  const T* first;
  long long ld, stride, lines, length;

  // Returns whether lines begin at other addresses than multiples of 16 bytes.
  __device__ __forceinline__ bool begins_anywhere() const {
    return reinterpret_cast<unsigned long long>(first) % 16 != 0 || (ld | stride) % 8 != 0;
  }
};

template <typename T>
struct RepackedOperand {
  static constexpr int kChunk = 8;  // elements of 16 bytes
  static_assert(sizeof(T) == 2);

  Operand16<T> from;
  T* to;
  long long products, ld;

  __device__ __forceinline__ RepackedOperand(const Operand16<T>& operand, void* memory,
                                             long long all_products)
      : from(operand),
        to(static_cast<T*>(memory)),
        products(all_products),
        ld((operand.length + 31) / 32 * 32) {}

  // Returns the end of the operand's memory, whether it is used or not.
  __device__ __forceinline__ void* end() const {
    constexpr long long kUnit = 128;  // elements
    return to + (products * from.lines * ld + kUnit - 1) / kUnit * kUnit;
  }
  // Returns the operand to read: the copy, if there is one.
  __device__ __forceinline__ Operand16<T> operand() const {
    if (!from.begins_anywhere()) return from;
    return {to, ld, from.stride == 0 ? 0 : from.lines * ld, from.lines, from.length};
  }

  // Copies the operand if its lines begin anywhere. All threads of blocks along x, of kThreads
  // threads, call this.
  template <int kThreads>
  __device__ __forceinline__ void copy() const {
    if (!from.begins_anywhere()) return;
    const auto chunks = static_cast<unsigned>(ld / kChunk);  // of a line
    const long long matrix = from.lines * chunks;
    const long long all = (from.stride == 0 ? 1 : products) * matrix;
    const long long threads = static_cast<long long>(gridDim.x) * kThreads;
    for (long long i = static_cast<long long>(blockIdx.x) * kThreads + threadIdx.x; i < all;
         i += threads) {
      const long long line = quotient(i, chunks);
      const long long product = BATCHED ? line / from.lines : 0;
      const long long element = (i - line * chunks) * kChunk;
      const T* const source = from.first + product * from.stride;
      store_vector<4>(reinterpret_cast<unsigned*>(to + i * kChunk),
                      chunk(source, line - product * from.lines, element));
    }
  }

 private:
  // Most quotients need no division of 64 bits, which is slow.
  static __device__ __forceinline__ long long quotient(long long a, unsigned b) {
    return a >> 32 == 0 ? static_cast<unsigned>(a) / b : a / b;
  }

  // Returns 8 elements of a line, with zeros behind its end.
  __device__ __forceinline__ Vector<unsigned, 4> chunk(const T* matrix, long long line,
                                                       long long element) const {
    const T* const at = matrix + line * from.ld + element;
    const T* const end = matrix + (from.lines - 1) * from.ld + from.length;
    const int phase = static_cast<int>(reinterpret_cast<unsigned long long>(at) % 16 / sizeof(T));
    const long long left = from.length - element;
    if (at - phase < matrix || at - phase + 2 * kChunk > end) return chunk_by_elements(at, left);
    // The 16 elements from a multiple of 16 bytes on, which are all within the matrix, moved by
    // 4, 2 and 1 elements.
    unsigned words[8];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const auto vector =
          load_vector<4>(reinterpret_cast<const unsigned*>(at - phase + half * kChunk));
#pragma unroll
      for (int word = 0; word < 4; ++word) words[4 * half + word] = vector.at[word];
    }
#pragma unroll
    for (int word = 0; word < 6; ++word) words[word] = phase & 4 ? words[word + 2] : words[word];
#pragma unroll
    for (int word = 0; word < 5; ++word) words[word] = phase & 2 ? words[word + 1] : words[word];
    Vector<unsigned, 4> moved;
#pragma unroll
    for (int word = 0; word < 4; ++word) {
      const unsigned both = phase & 1 ? words[word] >> 16 | words[word + 1] << 16 : words[word];
      const long long there = left - 2 * word;
      moved.at[word] = there > 1 ? both : there == 1 ? both & 0xffff : 0;
    }
    return moved;
  }

  static __device__ __forceinline__ Vector<unsigned, 4> chunk_by_elements(const T* at,
                                                                          long long left) {
    Vector<unsigned, 4> result = {};
#pragma unroll
    for (int e = 0; e < kChunk; ++e) {
      if (e < left) result.at[e / 2] |= static_cast<unsigned>(at[e].bits) << e % 2 * 16;
    }
    return result;
  }
};

}  // namespace autotune_device
