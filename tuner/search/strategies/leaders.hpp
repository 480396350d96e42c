// The fastest trials.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/trial.hpp"

namespace autotune {

class Leaders {
 public:
  explicit Leaders(std::size_t most) : most_(most) {}

  // Trials that failed do not count.
  void report(std::size_t index, const Trial& trial) {
    if (!trial.ok()) return;
    const std::pair leader(trial.measurement.median_us, index);
    leaders_.insert(std::upper_bound(leaders_.begin(), leaders_.end(), leader), leader);
    if (leaders_.size() > most_) leaders_.pop_back();
  }

  [[nodiscard]] std::size_t size() const { return leaders_.size(); }
  // The trial at a rank; the fastest has rank 0.
  [[nodiscard]] std::size_t operator[](std::size_t rank) const { return leaders_[rank].second; }

 private:
  std::size_t most_;
  std::vector<std::pair<double, std::size_t>> leaders_;  // the fastest first
};

}  // namespace autotune
