// How a configuration's loss follows from an estimate that was there before any trial.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "tuner/search/strategy.hpp"

namespace autotune {

// A straight line: the loss falls as the estimated rate, 1 / estimate, rises. Before trials say how
// much, in proportion to it.
class Trend {
 public:
  Trend(Prior estimate, std::size_t configurations)
      : estimate_(std::move(estimate)), configurations_(configurations) {}

  [[nodiscard]] bool exists() const { return static_cast<bool>(estimate_); }
  // 1 / estimate.
  [[nodiscard]] double rate(std::size_t index) const;
  // `losses` of the configurations `indices`: 1 - best / time.
  void fit(const std::vector<std::size_t>& indices, const std::vector<double>& losses);
  // How much larger a loss the line gives than to the trials on average; 0 where there is no
  // estimate.
  [[nodiscard]] double loss(std::size_t index) const;

 private:
  Prior estimate_;
  std::size_t configurations_;
  mutable std::vector<float> rates_;  // from the first question on; 0: not asked for yet
  double slope_ = 0;
  double mean_rate_ = 0;  // of the trials
};

}  // namespace autotune
