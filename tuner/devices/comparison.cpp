#include "tuner/devices/comparison.hpp"

#include <algorithm>
#include <vector>

#include "autotune/error.hpp"

#include "tuner/devices/finals.hpp"

namespace autotune {

std::string to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::faster:
      return "faster";
    case Verdict::slower:
      return "slower";
    case Verdict::no_difference:
      return "no difference";
  }
  throw Error("no such verdict");
}

Speedup speedup_of(std::span<const double> own_us, std::span<const double> other_us) {
  std::vector<double> speedups;
  for (std::size_t round = 0; round < std::min(own_us.size(), other_us.size()); ++round) {
    speedups.push_back(other_us[round] / own_us[round]);
  }
  return {median(speedups), median_interval(speedups)};
}

Comparison compare_samples(std::span<const double> own_us, std::span<const double> other_us) {
  if (own_us.size() != other_us.size() || own_us.size() < kFewestRounds) {
    throw Error("a comparison needs at least six samples of each kernel, and equally many");
  }
  const Speedup speedup = speedup_of(own_us, other_us);
  Comparison comparison{speedup.median, speedup.interval, Verdict::no_difference};
  if (comparison.interval.low > kRepeatability) comparison.verdict = Verdict::faster;
  if (comparison.interval.high < 1 / kRepeatability) comparison.verdict = Verdict::slower;
  return comparison;
}

}  // namespace autotune
