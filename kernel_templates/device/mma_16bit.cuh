// Matrix instructions of a warp with operands of 16 bits (mma.sync m16n8k16, compute capability
// 8.0), and the loads of their fragments from shared memory (ldmatrix). The CPU device computes
// what they do, with sums that are rounded once.
#pragma once

#include "element.cuh"

namespace autotune_device {

// The elements that a lane holds of 16 rows (of op(A), or columns of op(B)) and 16 k, two in each
// word: those of row lane / 4 at k = lane % 4 * 2 and 1 further. Of A, the words are those of the
// first 8 rows, of the last 8 rows, and of both 8 k further. Of B, they are those of the first 8
// columns, the same 8 k further, and then both of the last 8 columns.
struct Fragment16 {
  unsigned at[4];
};

#ifdef __CUDACC__

// Loads a fragment. from: the address of the lane's 8 elements, at a multiple of 16 bytes: lanes 0
// to 7 name the rows of 8x8 elements for the first word, lanes 8 to 15 those for the second, and so
// on. kTransposed: what lanes name are columns. All kThreads threads of the block call this.
template <bool kTransposed, int kThreads, typename T>
__device__ __forceinline__ void load_fragment(Fragment16& to, const T* from) {
  const auto shared = static_cast<unsigned>(__cvta_generic_to_shared(from));
  if constexpr (kTransposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to.at[0]), "=r"(to.at[1]), "=r"(to.at[2]), "=r"(to.at[3])
                 : "r"(shared));
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to.at[0]), "=r"(to.at[1]), "=r"(to.at[2]), "=r"(to.at[3])
                 : "r"(shared));
  }
}

__device__ __forceinline__ void mma_words(float* sums, const Fragment16& a, unsigned b0,
                                          unsigned b1, const __nv_bfloat16*) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a.at[0]), "r"(a.at[1]), "r"(a.at[2]), "r"(a.at[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ void mma_words(float* sums, const Fragment16& a, unsigned b0,
                                          unsigned b1, const __half*) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a.at[0]), "r"(a.at[1]), "r"(a.at[2]), "r"(a.at[3]), "r"(b0), "r"(b1));
}

// Adds the products of 16 rows, 16 columns and 16 k to the warp's sums, of which a lane has 4 for
// each 8 columns: the columns lane % 4 * 2 and 1 further, first of the row lane / 4, then of the
// row 8 further. All kThreads threads of the block call this together.
template <typename T, int kThreads>
__device__ __forceinline__ void multiply_fragments(float* sums, const Fragment16& a,
                                                   const Fragment16& b) {
  const T* const type = nullptr;
  mma_words(sums, a, b.at[0], b.at[1], type);
  mma_words(sums + 4, a, b.at[2], b.at[3], type);
}

#else

template <bool kTransposed, int kThreads, typename T>
__device__ __forceinline__ void load_fragment(Fragment16& to, const T* from) {
  __shared__ const T* named[kThreads];
  __syncthreads();
  named[threadIdx.x] = from;
  __syncthreads();
  const unsigned lane = threadIdx.x % 32;
  for (unsigned i = 0; i < 4; ++i) {
    const T* const* const rows = named + (threadIdx.x - lane + 8 * i);
    const unsigned row = lane / 4, k = lane % 4 * 2;
    const T low = kTransposed ? rows[k][row] : rows[row][k];
    const T high = kTransposed ? rows[k + 1][row] : rows[row][k + 1];
    to.at[i] = low.bits | static_cast<unsigned>(high.bits) << 16;
  }
}

template <typename T, int kThreads>
__device__ __forceinline__ void multiply_fragments(float* sums, const Fragment16& a,
                                                   const Fragment16& b) {
  __shared__ Fragment16 all_a[kThreads], all_b[kThreads];
  __syncthreads();
  all_a[threadIdx.x] = a;
  all_b[threadIdx.x] = b;
  __syncthreads();
  const unsigned lane = threadIdx.x % 32;
  const unsigned first = threadIdx.x - lane;
  const auto element = [first](const Fragment16* all, unsigned row, unsigned word, unsigned k) {
    const unsigned both = all[first + row * 4 + k % 8 / 2].at[word];
    return static_cast<double>(to_float(T{static_cast<unsigned short>(both >> k % 2 * 16)}));
  };
  for (unsigned i = 0; i < 8; ++i) {
    double sum = sums[i];
    for (unsigned k = 0; k < 16; ++k) {
      sum += element(all_a, lane / 4, i / 2 % 2 + k / 8 * 2, k) *
             element(all_b, lane % 4 * 2 + i % 2, i / 4 * 2 + k / 8, k);
    }
    sums[i] = static_cast<float>(sum);
  }
}

#endif

}  // namespace autotune_device
