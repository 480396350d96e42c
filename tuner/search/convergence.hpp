// How near a search is to the best of its space, by what recorded searches were in the same state.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "core/trial.hpp"

namespace autotune {

// Bounds the best of a space by the trials of its search, in their order. Cheap enough to be asked
// after each trial.
class Convergence {
 public:
  // Nothing is known of other strategies than `model`.
  explicit Convergence(const std::string& strategy) : is_known_(strategy == "model") {}

  void report(const Trial& trial);
  // A time below which no configuration of the space is expected to be. 0 where nothing can be
  // said.
  [[nodiscard]] double floor_us() const { return floor_us_; }

 private:
  bool is_known_;
  std::size_t trials_ = 0;
  std::vector<double> times_us_;  // of the trials that are correct, ascending
  double gained_us_ = std::numeric_limits<double>::infinity();  // the best time at the last gain
  std::size_t since_gain_ = 0;                                  // correct trials
  double floor_us_ = 0;
};

// The share of the best rate that a search has reached, in 19 of 20 recorded searches, whose best
// time is `best_us` and whose space has this floor. 0 where too few of them were right.
[[nodiscard]] double reached_share(double floor_us, double best_us);

}  // namespace autotune
