// Kernels that judge results by tolerances. Compiled after check.cuh, only for operations that have
// them.

// The same as tolerance_ratio() in tuner/measure/verification.cpp.
__device__ __forceinline__ double tolerance_ratio(double result, double expected, double absolute,
                                                  double relative) {
  if (result == expected || (result != result && expected != expected)) return 0;
  return fabs(result - expected) / (absolute + relative * fabs(expected));
}

extern "C" __global__ void __launch_bounds__(kThreads)
    check_tolerance(Area area, const ELEMENT* expected, double absolute, double relative,
                    Finding* findings) {
  const bool is_checked = isfinite(absolute);
  const Index gap = area.stride - area.of_matrix;
  check(area, findings, [=](Finding& finding, Index i, double value) {
    if (!is_checked) return;
    const double reference = to_double(expected[i]);
    const double ratio = tolerance_ratio(value, reference, absolute, relative);
    const double error = fabs(value - reference);
    const bool is_right =
        ratio <= 1 && equal(area.elements[i + i / area.of_matrix * gap], expected[i]);
    if (!is_right) count_wrong(finding, i);  // also for NaN
    if (!isfinite(ratio) || !isfinite(error)) return;
    finding.max_error_ratio = fmax(finding.max_error_ratio, ratio);
    finding.error_squares += error * error;
    finding.reference_squares += reference * reference;
  });
}

// Counts the elements that are still poison as wrong ones.
extern "C" __global__ void __launch_bounds__(kThreads) check_written(Area area, Finding* findings) {
  const Index gap = area.stride - area.of_matrix;
  check(area, findings, [=](Finding& finding, Index i, double) {
    if (!is_written(area, i + i / area.of_matrix * gap)) count_wrong(finding, i);
  });
}

// Adds numbers that depend on each piece of two bytes and its place to `sum`, which tells whether
// any of them has changed. The last piece may have one byte.
extern "C" __global__ void __launch_bounds__(kThreads)
    add_up(const unsigned short* pieces, Index bytes, unsigned long long* sum) {
  unsigned long long own = 0;
#pragma unroll 1
  for (Index i = first_index(); i < (bytes + 1) / 2; i += all_threads()) {
    const bool is_whole = 2 * i + 1 < bytes;
    const unsigned piece =
        is_whole ? pieces[i] : reinterpret_cast<const unsigned char*>(pieces)[2 * i];
    unsigned long long x = static_cast<unsigned long long>(i) << 16 | piece;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    own += x ^ (x >> 31);
  }
  if (own != 0) atomicAdd(sum, own);
}
