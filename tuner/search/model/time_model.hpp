// What the trials of one problem say of the configurations that were not tried: how fast they are,
// and whether they work at all. Knows nothing of what the parameters mean, but for an estimate that
// it may be given.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "autotune/configuration.hpp"

#include "core/trial.hpp"
#include "tuner/search/model/encoding.hpp"
#include "tuner/search/model/gaussian_process.hpp"
#include "tuner/search/model/trend.hpp"

namespace autotune {

// A covariance that is learned again as trials come: often at first, then with each quarter more.
struct ScheduledCovariance {
  Covariance covariance;
  std::size_t learned_from = 0;  // trials

  void learn_when_due(const Points& points, const std::vector<double>& values, std::size_t trials);
};

// Values are losses: 1 - best / time, the share of the best trial's rate that a configuration
// loses. Slow ones, however slow, are all near 1, so that the model is finest where it matters; one
// that is faster than the best has a loss below 0.
class TimeModel {
 public:
  // `configurations` outlives it.
  explicit TimeModel(const std::vector<Configuration>& configurations, Prior estimate = {});

  void report(std::size_t index, const Trial& trial);
  [[nodiscard]] std::size_t successes() const { return successes_.size(); }
  [[nodiscard]] std::size_t reports() const { return history_.size(); }
  // Of those that worked, the fastest first.
  [[nodiscard]] std::vector<std::size_t> leaders(std::size_t count) const;
  // Nothing can be told apart where no parameter varies, nor before something has worked.
  [[nodiscard]] bool can_fit() const { return !successes_.empty() && encoding().dimensions() > 0; }

  // The process that the trials up to now give, of what trend() leaves over of the losses.
  [[nodiscard]] GaussianProcess fit();
  [[nodiscard]] const Trend& trend() const { return trend_; }
  [[nodiscard]] std::vector<float> point(std::size_t index) const;
  // That a configuration works, by those like it (0 to 1); as of the last fit().
  [[nodiscard]] double chance(const float* point) const;

 private:
  struct Success {
    double time_us;
    std::size_t index;
    auto operator<=>(const Success&) const = default;
  };
  [[nodiscard]] const Encoding& encoding() const;
  [[nodiscard]] std::vector<Success> chosen_successes() const;
  // What makes configurations work, from the last reports.
  void fit_validity();

  const std::vector<Configuration>& configurations_;
  // Made when it is first needed: in a search of many sizes few problems get so far.
  mutable std::optional<Encoding> encoding_;
  Trend trend_;  // as of the last fit()
  ScheduledCovariance covariance_;
  ScheduledCovariance validity_covariance_;
  std::vector<Success> successes_;  // the fastest first
  struct Report {
    std::size_t index;
    bool works;
  };
  std::vector<Report> history_;
  std::optional<GaussianProcess> validity_;  // 1 works, 0 does not; none where all works
};

}  // namespace autotune
