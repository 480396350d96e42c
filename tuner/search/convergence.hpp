// How near a search is to the best of its spaces, by what recorded searches were in the same state.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "core/trial.hpp"

namespace autotune {

// While the best time stays as it is, what a search may still miss falls by the factor e with each
// of so many correct trials. This is of searches of one template's space that begin with nothing:
// from benchmarks/statement/calibrate.py, whose output is
// benchmarks/results/statement/calibration.txt.
inline constexpr double kRecordedPatience = 55;

// Bounds the best of a problem's spaces by the trials of its search, in their order. Cheap enough
// to be asked after each trial.
class Convergence {
 public:
  // A patience of 0 says that nothing is known of searches of this kind; nothing is of other
  // strategies than `model`.
  explicit Convergence(const std::string& strategy, double patience = kRecordedPatience)
      : patience_(strategy == "model" ? patience : 0) {}

  void report(const Trial& trial);
  // The share of the best rate that searches of most recorded spaces had reached in the same state.
  // 0 where nothing can be said, or too few of them were right.
  [[nodiscard]] double reached_share() const;

 private:
  struct Leader {
    double time_us;
    std::string template_name;
    Configuration configuration;
  };
  void take_leader(const Trial& trial);
  // Returns whether the fastest trials are unlike the best and most are clearly slower: the space
  // has several good parts, and the best one may not have been found.
  [[nodiscard]] bool leaders_are_apart() const;

  double patience_;
  std::size_t trials_ = 0;
  std::vector<Leader> leaders_;   // the fastest first
  std::vector<double> times_us_;  // of the trials that are correct, ascending
  double gained_us_ = std::numeric_limits<double>::infinity();  // the best time at the last gain
  std::size_t since_gain_ = 0;                                  // correct trials
  double floor_us_ = 0;  // no configuration of the spaces is expected to be faster
};

}  // namespace autotune
