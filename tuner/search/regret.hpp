// What a search may have missed: how far the best that it found is from the best of its space.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "autotune/configuration.hpp"

#include "core/trial.hpp"
#include "tuner/search/strategy.hpp"

namespace autotune {

// What the trials of one problem in one template's space say of the configurations that were not
// tried, in whatever order and by whatever strategy the trials were chosen.
class RegretEstimate {
 public:
  RegretEstimate(const std::vector<Configuration>& configurations,
                 const std::map<std::size_t, Trial>& trials, const Prior& estimate = {});

  // How many of the untried ones are expected to take less than this. Infinite where the trials
  // are too few to tell.
  [[nodiscard]] double expected_faster(double time_us) const;

 private:
  struct Expectation {
    double loss;  // against the best trial of this space (TimeModel)
    double deviation;
    double count;  // of configurations like it, times the chance that they work
  };

  bool known_ = false;
  double best_us_ = 0;
  std::vector<Expectation> untried_;
};

// The share of the best rate, 0 to 1, that a time of `best_us` has reached at least, over the
// spaces that were searched: the share at which the expected number of faster configurations is
// the risk that is taken. 1 when everything was tried.
[[nodiscard]] double regret_bound(const std::vector<RegretEstimate>& estimates, double best_us);

// A rule that ends a search by this looks at it after so many trials, then after a tenth more.
constexpr std::size_t kFirstCheck = 50;
[[nodiscard]] constexpr std::size_t next_check(std::size_t trials) {
  return trials + trials / 10;
}

}  // namespace autotune
