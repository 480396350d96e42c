#include "tuner/search/surrogate/prior_mean.hpp"

#include <numeric>

namespace autotune {
namespace {

// Proportionality counts as this many trials whose rates differ by this share. Trials of nearly the
// same rate say little about the slope.
constexpr double kTrust = 6;
constexpr double kSpread = 0.05;

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

double PriorMean::rate(std::size_t index) const {
  if (rates_.empty()) rates_.resize(configurations_);
  float& rate = rates_[index];
  if (rate == 0) rate = static_cast<float>(1 / estimate_(index));
  return static_cast<double>(rate);
}

void PriorMean::fit(const std::vector<std::size_t>& indices, const std::vector<double>& losses) {
  if (!exists()) return;
  std::vector<double> rates;
  for (const std::size_t index : indices) rates.push_back(rate(index));
  mean_rate_ = mean(rates);
  const double mean_loss = mean(losses);
  double squares = kTrust * kSpread * kSpread * mean_rate_ * mean_rate_;
  double products = -squares * (1 - mean_loss) / mean_rate_;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    products += (rates[i] - mean_rate_) * (losses[i] - mean_loss);
    squares += (rates[i] - mean_rate_) * (rates[i] - mean_rate_);
  }
  slope_ = products / squares;
}

double PriorMean::loss(std::size_t index) const {
  return exists() ? slope_ * (rate(index) - mean_rate_) : 0;
}

}  // namespace autotune
