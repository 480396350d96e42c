// A model of one problem's trials that predicts how fast an untried configuration is and whether it
// works at all. The meaning of the parameters enters through an optional estimate alone.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include "autotune/configuration.hpp"

#include "core/trial.hpp"
#include "tuner/search/surrogate/encoding.hpp"
#include "tuner/search/surrogate/prior_mean.hpp"
#include "tuner/search/surrogate/process_mixture.hpp"

namespace autotune {

// Covariances that are learned again as trials come: often at first, then when their number has
// grown by a quarter.
class LearnedCovariance {
 public:
  // `trials` is the number of all trials, of which the points are some.
  void learn_when_due(const Points& points, const std::vector<double>& values, std::size_t trials);
  // A smooth one, and one with a step as far as the values speak for it.
  [[nodiscard]] std::vector<WeighedCovariance> weighed() const;

 private:
  Covariance smooth_;
  Covariance stepped_;
  std::size_t learned_from_ = 0;  // trials
  // Of the step, which is a parameter more. Few values say nothing of it.
  double penalty_ = std::numeric_limits<double>::infinity();
};

// The values are losses: 1 - best / time, the share of the best trial's rate that a configuration
// loses. All slow configurations have losses near 1, so that the model is finest where it matters.
// A configuration that is faster than the best has a loss below 0.
class TimeModel {
 public:
  // `configurations` outlives it.
  explicit TimeModel(const std::vector<Configuration>& configurations, Prior estimate = {});

  void report(std::size_t index, const Trial& trial);
  [[nodiscard]] std::size_t successes() const { return successes_.size(); }
  [[nodiscard]] std::size_t reports() const { return history_.size(); }
  // The fastest configurations, in order.
  [[nodiscard]] std::vector<std::size_t> leaders(std::size_t count) const;
  // False where no parameter varies and before a configuration has worked.
  [[nodiscard]] bool can_fit() const { return !successes_.empty() && encoding().dimensions() > 0; }

  // The process of the losses so far, relative to prior_mean().
  [[nodiscard]] ProcessMixture fit();
  [[nodiscard]] const PriorMean& prior_mean() const { return prior_mean_; }
  // The loss of a trial that comes after the last fit().
  [[nodiscard]] double loss(double time_us) const { return 1 - fitted_best_us_ / time_us; }
  [[nodiscard]] std::vector<float> point(std::size_t index) const;
  // The probability that a configuration works, as of the last fit().
  [[nodiscard]] double feasibility(const float* point) const;

 private:
  struct Success {
    double time_us;
    std::size_t index;
    auto operator<=>(const Success&) const = default;
  };
  [[nodiscard]] const Encoding& encoding() const;
  [[nodiscard]] std::vector<Success> chosen_successes() const;
  // Learns from the latest reports which configurations work.
  void fit_validity();

  const std::vector<Configuration>& configurations_;
  // Made when it is first needed, since in a search of many sizes few problems get so far.
  mutable std::optional<Encoding> encoding_;
  PriorMean prior_mean_;       // as of the last fit()
  double fitted_best_us_ = 0;  // likewise
  LearnedCovariance covariance_;
  LearnedCovariance validity_covariance_;
  std::vector<Success> successes_;  // the fastest first
  struct Report {
    std::size_t index;
    bool works;
  };
  std::vector<Report> history_;
  std::optional<ProcessMixture> validity_;  // 1: works, 0: fails; empty where all work
};

}  // namespace autotune
