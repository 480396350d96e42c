// Kernels that make input data and compare a result with the operation's reference. Compiled after
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

// The output function of splitmix64: neighbouring inputs give unrelated outputs.
__device__ __forceinline__ unsigned long long mixed(unsigned long long x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// Element i of a random sequence depends on the seed and on i alone.
__device__ __forceinline__ unsigned long long random_bits(unsigned long long seed, Index i) {
  return mixed(mixed(seed) + 0x9e3779b97f4a7c15ull * (static_cast<unsigned long long>(i) + 1));
}

// Integers in [-2, 2].
extern "C" __global__ void fill_integers(ELEMENT* out, Index count, unsigned long long seed) {
#pragma unroll 1
  for (Index i = first_index(); i < count; i += all_threads()) {
    const int integer = static_cast<int>((random_bits(seed, i) >> 32) % 5) - 2;
    from_double(static_cast<double>(integer), out[i]);
  }
}

// Uniform in (-1, 1): the odd multiples of 2^-23.
extern "C" __global__ void fill_uniform(ELEMENT* out, Index count, unsigned long long seed) {
#pragma unroll 1
  for (Index i = first_index(); i < count; i += all_threads()) {
    const int odd = 2 * static_cast<int>(random_bits(seed, i) >> 41) + 1;
    from_double(static_cast<double>(odd - (1 << 23)) * (1.0 / (1 << 23)), out[i]);
  }
}

// Evenly spaced, from `first` for element 0 on to `last` for element `count`, which is not there.
extern "C" __global__ void fill_linear(ELEMENT* out, Index count, double first, double last) {
  const double step = (last - first) / static_cast<double>(count);
#pragma unroll 1
  for (Index i = first_index(); i < count; i += all_threads()) {
    from_double(first + step * static_cast<double>(i), out[i]);
  }
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
  constexpr int kHalves = sizeof(ELEMENT) / 2;  // an element of 2 bytes may begin within a word
  const unsigned short* const halves = reinterpret_cast<const unsigned short*>(area.elements);
  bool differs = false;
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

extern "C" __global__ void __launch_bounds__(kThreads)
    check_integers(Area area, const ELEMENT* expected, Finding* findings) {
  check(area, findings, [=](Finding& finding, Index i, double value) {
    if (!(value == to_double(expected[i]))) count_wrong(finding, i);
  });
}

// An element is wrong when |error| / (unit * magnitude) is above `bound`.
extern "C" __global__ void __launch_bounds__(kThreads)
    check_real(Area area, const double* expected, const float* magnitudes, double unit,
               double bound, Finding* findings) {
  check(area, findings, [=](Finding& finding, Index i, double value) {
    const double error = fabs(value - expected[i]);
    const double scale = unit * static_cast<double>(magnitudes[i]);
    if (!(error <= bound * scale)) count_wrong(finding, i);  // also for NaN
    const double ratio = error == 0 ? 0.0 : error / scale;
    if (!isfinite(ratio)) return;
    finding.max_error_ratio = fmax(finding.max_error_ratio, ratio);
    finding.error_squares += error * error;
    finding.reference_squares += expected[i] * expected[i];
  });
}
