// Vectors of elements that one instruction moves, and arithmetic on constants.
#pragma once

namespace autotune_device {

__device__ constexpr int minimum(int a, int b) {
  return a < b ? a : b;
}
__device__ constexpr int maximum(int a, int b) {
  return a > b ? a : b;
}
__device__ constexpr int greatest_common_divisor(int a, int b) {
  return b == 0 ? a : greatest_common_divisor(b, a % b);
}

// kCount elements that lie side by side and that one instruction moves: at most 16 bytes. The
// address of a vector is a multiple of its size.
template <typename T, int kCount>
struct alignas(sizeof(T) * kCount) Vector {
  T at[kCount];
};

// Loads kCount elements with one instruction. The address must be a multiple of their size.
template <int kCount, typename T>
__device__ __forceinline__ Vector<T, kCount> load_vector(const T* from) {
  from = static_cast<const T*>(__builtin_assume_aligned(from, sizeof(T) * kCount));
  return *reinterpret_cast<const Vector<T, kCount>*>(from);
}

// Stores a vector with one instruction. The address must be a multiple of its size.
template <int kCount, typename T>
__device__ __forceinline__ void store_vector(T* to, const Vector<T, kCount>& vector) {
  to = static_cast<T*>(__builtin_assume_aligned(to, sizeof(T) * kCount));
  *reinterpret_cast<Vector<T, kCount>*>(to) = vector;
}

}  // namespace autotune_device
