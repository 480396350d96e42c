// An operand as a matrix whose rows run along K: row i of op(A), or column i of op(B).
#pragma once

namespace autotune_device {

// The rows of one operand that a thread works on, from row `first` on.
template <typename T>
struct Rows {
  const T* at;        // the first row's first element
  long long leading;  // elements from one row (K-major) or one k (otherwise) to the next
  int left;           // rows of the matrix from the first on, at least 1
  bool exist;         // false: there is no such row, and `at` is the last one
  bool aligned;       // neighbours of 16 bytes or less, at a multiple of as many, are one vector
  int k;              // elements of a row
  // Less than a vector of the operand is in front of the first element, and no vector begins there.
  bool begin_inside_vector;

  __device__ __forceinline__ Rows(const T* source, long long ld, long long all, long long all_k,
                                  long long first, bool k_major)
      : leading(ld), exist(first < all), k(static_cast<int>(all_k)) {
    constexpr int kVector = 16 / sizeof(T);
    const bool begins_aligned = reinterpret_cast<unsigned long long>(source) % 16 == 0;
    if (first >= all) first = all - 1;
    const long long offset = first * (k_major ? ld : 1);
    at = source + offset;
    left = all - first < 1 << 30 ? static_cast<int>(all - first) : 1 << 30;
    aligned = begins_aligned && ld % kVector == 0;
    begin_inside_vector = !begins_aligned && offset < kVector;
  }
};

}  // namespace autotune_device
