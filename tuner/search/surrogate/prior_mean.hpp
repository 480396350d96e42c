// The prior mean of a configuration's loss, from an estimate that needs no trials.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "tuner/search/strategy.hpp"

namespace autotune {

// A straight line: the loss falls as the estimated rate, 1 / estimate, rises. The trials give the
// slope; without trials the loss falls in proportion to the rate.
class PriorMean {
 public:
  PriorMean(Prior estimate, std::size_t configurations)
      : estimate_(std::move(estimate)), configurations_(configurations) {}

  [[nodiscard]] bool exists() const { return static_cast<bool>(estimate_); }
  // The estimated rate, 1 / estimate.
  [[nodiscard]] double rate(std::size_t index) const;
  // Learns from the losses, 1 - best / time, of the configurations `indices`.
  void fit(const std::vector<std::size_t>& indices, const std::vector<double>& losses);
  // The loss on the line, relative to the mean of the trials; 0 without an estimate.
  [[nodiscard]] double loss(std::size_t index) const;

 private:
  Prior estimate_;
  std::size_t configurations_;
  mutable std::vector<float> rates_;  // filled when first used; 0: not filled yet
  double slope_ = 0;
  double mean_rate_ = 0;  // of the trials
};

}  // namespace autotune
