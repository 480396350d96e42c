#include "tuner/devices/comparison.hpp"

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

Comparison compare_samples(std::span<const double> own_us, std::span<const double> other_us) {
  if (own_us.size() != other_us.size() || own_us.size() < kFewestRounds) {
    throw Error("a comparison needs at least six samples of each kernel, and equally many");
  }
  std::vector<double> speedups;
  for (std::size_t round = 0; round < own_us.size(); ++round) {
    speedups.push_back(other_us[round] / own_us[round]);
  }
  Comparison comparison{median(speedups), median_interval(speedups), Verdict::no_difference};
  if (comparison.interval.low > kRepeatability) comparison.verdict = Verdict::faster;
  if (comparison.interval.high < 1 / kRepeatability) comparison.verdict = Verdict::slower;
  return comparison;
}

}  // namespace autotune
