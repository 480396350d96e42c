// What all kernels have in common that look at the result of a kernel. Compiled after
// base/operation/kernels/element.cuh, once for each element type, which is the macro ELEMENT.
//
// All kernels take one-dimensional grids of kThreads threads. Counts and indices are 64-bit. Every
// start of a measuring process compiles this file, so loops are unrolled only where it pays.

constexpr int kThreads = 256;

using Index = long long;

__device__ __forceinline__ Index first_index() {
  return static_cast<Index>(blockIdx.x) * kThreads + threadIdx.x;
}
__device__ __forceinline__ Index all_threads() {
  return static_cast<Index>(gridDim.x) * kThreads;
}

// The findings of one block; tuner/measure/verification.hpp has the same struct.
struct Finding {
  double max_error_ratio;  // of the elements whose ratio is a finite number
  double error_squares;    // sums over these elements
  double reference_squares;
  Index wrong;        // elements, NaN included
  Index first_wrong;  // the least index of them; above all indices when there are none
  Index outside;      // words of the guard zones that were written to
};

// The output between its guard zones: `count` elements in matrices of `of_matrix` elements, the
// first at `elements`, each `stride` elements behind the one before; and `guard` words of 4 bytes
// before them and behind them. All words were `poison` before the kernel ran.
struct Area {
  const ELEMENT* elements;
  Index count;
  Index of_matrix;
  Index stride;
  const unsigned* before;
  const unsigned* behind;
  Index guard;
  unsigned poison;
};

__device__ __forceinline__ void merge(Finding& into, const Finding& other) {
  into.max_error_ratio = fmax(into.max_error_ratio, other.max_error_ratio);
  into.error_squares += other.error_squares;
  into.reference_squares += other.reference_squares;
  into.wrong += other.wrong;
  into.first_wrong = min(into.first_wrong, other.first_wrong);
  into.outside += other.outside;
}

__device__ __forceinline__ void count_wrong(Finding& finding, Index i) {
  ++finding.wrong;
  finding.first_wrong = min(finding.first_wrong, i);
}

// Returns whether an element is not what it was before the kernel ran.
__device__ __forceinline__ bool is_written(const Area& area, Index element) {
  constexpr int kBytes = sizeof(ELEMENT);
  bool differs = false;
  if constexpr (kBytes == 1) {
    const unsigned char byte = reinterpret_cast<const unsigned char*>(area.elements)[element];
    return byte != static_cast<unsigned char>(area.poison >> (element % 4 * 8));
  }
  constexpr int kHalves = kBytes / 2;  // an element of 2 bytes may begin within a word
  const unsigned short* const halves = reinterpret_cast<const unsigned short*>(area.elements);
  for (Index i = element * kHalves; i < (element + 1) * kHalves; ++i) {
    differs |= halves[i] != static_cast<unsigned short>(area.poison >> (i % 2 * 16));
  }
  return differs;
}

// Gives every element to `look(finding, i, value)`; findings[block] receives the findings.
template <typename Look>
__device__ __forceinline__ void check(const Area& area, Finding* findings, const Look& look) {
  Finding own = {0, 0, 0, 0, 0x7fffffffffffffffll, 0};
  const Index gap = area.stride - area.of_matrix;
#pragma unroll 1
  for (Index i = first_index(); i < area.count; i += all_threads()) {
    look(own, i, to_double(area.elements[i + i / area.of_matrix * gap]));
  }
#pragma unroll 1
  for (Index i = first_index(); i < gap * (area.count / area.of_matrix); i += all_threads()) {
    own.outside += is_written(area, i / gap * area.stride + area.of_matrix + i % gap);
  }
#pragma unroll 1
  for (Index i = first_index(); i < area.guard; i += all_threads()) {
    own.outside += area.before[i] != area.poison;
    own.outside += area.behind[i] != area.poison;
  }
  __shared__ Finding shared[kThreads];
  shared[threadIdx.x] = own;
#pragma unroll 1
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) merge(shared[threadIdx.x], shared[threadIdx.x + half]);
  }
  if (threadIdx.x == 0) findings[blockIdx.x] = shared[0];
}
