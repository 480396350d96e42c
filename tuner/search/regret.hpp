// The regret of a search: how far its best trial is from the best of its space.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "autotune/configuration.hpp"

#include "core/trial.hpp"
#include "tuner/search/strategy.hpp"

namespace autotune {

// An estimate of the untried configurations from the trials of one problem in one template's space.
// The order of the trials and the strategy that chose them do not matter.
class RegretEstimate {
 public:
  RegretEstimate(const std::vector<Configuration>& configurations,
                 const std::map<std::size_t, Trial>& trials, const Prior& estimate = {});

  // The expected number of untried configurations that take less than this. Infinite where the
  // trials are too few to tell.
  [[nodiscard]] double expected_faster(double time_us) const;

 private:
  struct Expectation {
    double loss;  // relative to the best trial of this space (TimeModel)
    double deviation;
    double count;  // the number of configurations that it stands for, times their feasibility
  };

  bool known_ = false;
  double best_us_ = 0;
  std::vector<Expectation> untried_;
};

// A lower bound, 0 to 1, of the share of the best rate of the searched spaces that a time of
// `best_us` has reached. At this share the expected number of faster configurations is the accepted
// risk. 1 when everything was tried.
[[nodiscard]] double regret_bound(const std::vector<RegretEstimate>& estimates, double best_us);

// A rule that ends a search by this bound computes it after this many trials, then after each tenth
// more.
constexpr std::size_t kFirstCheck = 50;
[[nodiscard]] constexpr std::size_t next_check(std::size_t trials) {
  return trials + trials / 10;
}

}  // namespace autotune
