#include "core/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "autotune/error.hpp"

namespace autotune {
namespace {

std::vector<double> sorted(std::span<const double> samples) {
  if (samples.empty()) throw Error("no samples");
  for (const double sample : samples) {
    if (!std::isfinite(sample)) throw Error("a sample is not finite");
  }
  std::vector<double> values(samples.begin(), samples.end());
  std::sort(values.begin(), values.end());
  return values;
}

double median_of_sorted(const std::vector<double>& values) {
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace

double median(std::span<const double> samples) {
  return median_of_sorted(sorted(samples));
}

double median_absolute_deviation(std::span<const double> samples) {
  const double center = median(samples);
  std::vector<double> deviations;
  for (const double sample : samples) deviations.push_back(std::abs(sample - center));
  return median(deviations);
}

Interval median_interval(std::span<const double> samples) {
  const std::vector<double> values = sorted(samples);
  // The median lies outside [x(j), x(n+1-j)] when fewer than j samples fall on one side of it:
  // with probability 2 P(Binomial(n, 1/2) < j). Take the largest j that keeps this below 5 %.
  const auto n = static_cast<double>(values.size());
  double log_term = -n * std::log(2.0);  // of P(Binomial = 0), which itself may underflow
  double below = std::exp(log_term);
  std::size_t j = 0;
  while (2 * below <= 0.05) {
    ++j;
    log_term += std::log((n - static_cast<double>(j) + 1) / static_cast<double>(j));
    below += std::exp(log_term);
  }
  if (j == 0) return {values.front(), values.back()};
  return {values[j - 1], values[values.size() - j]};
}

}  // namespace autotune
