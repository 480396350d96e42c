#include "tuner/model/trend.hpp"

#include <numeric>

namespace autotune {
namespace {

// How many trials the proportion counts as.
constexpr double kTrust = 6;

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

double Trend::rate(std::size_t index) const {
  rates_.resize(configurations_);
  float& rate = rates_[index];
  if (rate == 0) rate = static_cast<float>(1 / estimate_(index));
  return static_cast<double>(rate);
}

void Trend::fit(const std::vector<std::size_t>& indices, const std::vector<double>& losses) {
  if (!exists()) return;
  std::vector<double> rates;
  for (const std::size_t index : indices) rates.push_back(rate(index));
  const double mean_rate = mean(rates);
  const double mean_loss = mean(losses);
  double products = 0;
  double squares = 0;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    products += (rates[i] - mean_rate) * (losses[i] - mean_loss);
    squares += (rates[i] - mean_rate) * (rates[i] - mean_rate);
  }
  const double proportion = -(1 - mean_loss) / mean_rate;
  const double learned = squares > 0 ? products / squares : proportion;
  const auto trials = static_cast<double>(rates.size());
  slope_ = (trials * learned + kTrust * proportion) / (trials + kTrust);
}

double Trend::loss(std::size_t index) const {
  return exists() ? slope_ * rate(index) : 0;
}

}  // namespace autotune
