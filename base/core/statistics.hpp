// Medians, spreads and intervals of timing samples.
#pragma once

#include <span>

namespace autotune {

// All functions take samples in any order. They throw Error when there are none or one is not
// finite.
[[nodiscard]] double median(std::span<const double> samples);
// Median absolute deviation from the median.
[[nodiscard]] double median_absolute_deviation(std::span<const double> samples);

struct Interval {
  double low = 0;
  double high = 0;
};
// The distribution-free 95 % confidence interval of the median from order statistics (binomial with
// p = 1/2). With fewer than 6 samples no such interval exists; the result is then their range.
[[nodiscard]] Interval median_interval(std::span<const double> samples);

}  // namespace autotune
