// Elements that one instruction moves.

__device__ constexpr int least(int a, int b) {
  return a < b ? a : b;
}
__device__ constexpr int common_divisor(int a, int b) {
  return b == 0 ? a : common_divisor(b, a % b);
}

// What one instruction moves: up to four elements.
template <int kElements>
struct alignas(4 * kElements) Vector {
  float at[kElements];
};

template <int kElements>
__device__ __forceinline__ Vector<kElements> read(const float* from) {
  from = static_cast<const float*>(__builtin_assume_aligned(from, 4 * kElements));
  return *reinterpret_cast<const Vector<kElements>*>(from);
}

template <int kElements>
__device__ __forceinline__ void write(float* to, const Vector<kElements>& vector) {
  to = static_cast<float*>(__builtin_assume_aligned(to, 4 * kElements));
  *reinterpret_cast<Vector<kElements>*>(to) = vector;
}
