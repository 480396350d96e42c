// Kernels that make input data and compare a result with the operation's reference. Compiled after
// check.cuh.

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
