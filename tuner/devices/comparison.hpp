// Two kernels compared by samples that were taken in turn.
#pragma once

#include <span>
#include <string>

#include "core/statistics.hpp"

namespace autotune {

// The fewest rounds that have a 95 % interval of their median.
inline constexpr int kFewestRounds = 6;

enum class Verdict { faster, slower, no_difference };

// "faster", "slower" or "no difference".
[[nodiscard]] std::string to_string(Verdict verdict);

struct Comparison {
  double speedup = 1;  // the median over the rounds of the other's time by the own time
  Interval interval;   // of that median, at 95 %
  Verdict verdict = Verdict::no_difference;
};

// The other kernel's time by the own one's: the median over the rounds that both have, one at
// least, with its interval.
struct Speedup {
  double median = 1;
  Interval interval;
};
[[nodiscard]] Speedup speedup_of(std::span<const double> own_us, std::span<const double> other_us);

// Compares one sample of each kernel a round, in microseconds. A difference counts when the whole
// interval lies beyond what one kernel's medians differ by from process to process (0.5 %). Throws
// Error for fewer than kFewestRounds rounds, or when one kernel has more samples than the other.
[[nodiscard]] Comparison compare_samples(std::span<const double> own_us,
                                         std::span<const double> other_us);

}  // namespace autotune
