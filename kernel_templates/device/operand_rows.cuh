// An operand as a matrix whose rows run along K: row i of op(A), or column i of op(B).
#pragma once

namespace autotune_device {

// The rows of one operand that a thread works on, from row `first` on.
template <typename T>
struct Rows {
  const T* at;        // the first row's first element
  long long leading;  // elements from one row (K-major) or one k (otherwise) to the next
  int left;           // rows of the matrix from the first on, at least 1
  bool aligned;       // 2 or 4 neighbours, at a multiple of as many, are one vector

  __device__ __forceinline__ Rows(const T* source, long long ld, long long all, long long first,
                                  bool k_major)
      : leading(ld) {
    if (first >= all) first = all - 1;
    at = source + first * (k_major ? ld : 1);
    left = all - first < 1 << 30 ? static_cast<int>(all - first) : 1 << 30;
    aligned = reinterpret_cast<unsigned long long>(source) % 16 == 0 && ld % 4 == 0;
  }
};

}  // namespace autotune_device
