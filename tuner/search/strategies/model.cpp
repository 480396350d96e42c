// Bayesian optimization: a Gaussian process learns from the trials how time depends on the
// parameters, and the configuration with the greatest expected improvement comes next
// (docs/search.md).
#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "tuner/search/strategies/neighbours.hpp"
#include "tuner/search/strategies/offspring.hpp"
#include "tuner/search/strategies/untried.hpp"
#include "tuner/search/strategy.hpp"
#include "tuner/search/surrogate/time_model.hpp"

namespace autotune {
namespace {

class Model : public SearchStrategy {
 public:
  explicit Model(const SearchSpace& space)
      : configurations_(*space.configurations),
        untried_(configurations_.size(), space.seed),
        model_(configurations_, space.estimate),
        offspring_(configurations_, space.seed, kPopulation) {}

  std::optional<std::size_t> next() override {
    std::optional<std::size_t> index;
    if (model_.successes() >= kFirst && model_.can_fit()) index = propose_by_model();
    if (!index && model_.prior_mean().exists() && ++first_ % kBlindTurn != 0) {
      index = fastest_by_estimate();
    }
    if (!index) index = untried_.take_next();
    if (!index) return std::nullopt;
    untried_.take(*index);
    pending_.push_back(*index);
    return index;
  }

  void report(std::size_t index, const Trial& trial) override {
    untried_.take(index);
    std::erase(pending_, index);
    compare_with_prediction(index, trial);
    model_.report(index, trial);
    offspring_.report(index, trial);
  }

 private:
  static constexpr std::size_t kFirst = 6;  // successes before the first fit
  // Before the first fit, the best by its estimate of this many random configurations is tried. One
  // proposal in kBlindTurn ignores the estimate, which may be wrong.
  static constexpr std::size_t kPoolSize = 32;
  static constexpr std::size_t kBlindTurn = 4;
  static constexpr std::size_t kRandom = 2'000;      // untried configurations considered in a fit
  static constexpr std::size_t kLeaders = 3;         // whose neighbours are considered too
  static constexpr std::size_t kMostDifferent = 2;   // parameters in which a neighbour differs
  static constexpr std::size_t kNeighbours = 1'000;  // of one leader at most
  static constexpr std::size_t kShortlist = 200;     // the considered ones with most to gain
  static constexpr std::size_t kRefitShare = 20;     // a new fit when 1 / 20 of the trials are new
  // After this many successes every third proposal is a nearest neighbour of a leader, for spaces
  // that the process does not model well.
  static constexpr std::size_t kLocalFrom = 20;
  static constexpr std::size_t kLocalTurn = 3;
  // Where it does, the expected improvement finds the good neighbours, and a child of two fast
  // configurations takes their place, since it may be far from all leaders. The error of fewer
  // predictions says little (docs/internals/design-notes.md has it for recorded spaces).
  static constexpr std::size_t kChildrenFrom = 30;  // successes
  static constexpr double kSmallError = 0.2;        // mean of the predicted losses' errors
  static constexpr std::size_t kChildren = 2;       // considered
  static constexpr std::size_t kPopulation = 48;    // a small one would be the leaders' relatives
  // Configurations that are less likely to work come after all others, and are no children: a
  // failure does not lower the expected improvement near it.
  static constexpr double kLeastFeasibility = 0.5;
  static constexpr double kComesLast = 1e9;
  static constexpr double kSmallestFeasibility = 1e-9;
  static constexpr double kFarTail =
      20;  // deviations; an asymptotic expansion is exact enough beyond

  struct Candidate {
    std::size_t index;
    std::vector<float> point;
    double mean;         // loss
    double feasibility;  // of being valid
    double log_expected_improvement;
    MixtureCache cache;
  };

  // The best by its estimate of a random pool, which is another at each call.
  std::optional<std::size_t> fastest_by_estimate() {
    const std::vector<std::size_t> pool = some_untried(kPoolSize);
    if (pool.empty()) return std::nullopt;
    return *std::ranges::max_element(pool, [&](std::size_t a, std::size_t b) {
      return model_.prior_mean().rate(a) < model_.prior_mean().rate(b);
    });
  }

  std::vector<std::size_t> some_untried(std::size_t at_most) {
    std::vector<std::size_t> indices;
    const std::vector<std::uint32_t>& order = untried_.order();
    for (std::size_t i = 0; i < order.size() && indices.size() < at_most; ++i) {
      window_ = (window_ + 1) % order.size();
      if (untried_.contains(order[window_])) indices.push_back(order[window_]);
    }
    return indices;
  }

  // Adds the error of the process that does not know the trial yet.
  void compare_with_prediction(std::size_t index, const Trial& trial) {
    if (!process_ || !trial.ok() || trial.measurement.median_us <= 0) return;
    const std::vector<float> point = model_.point(index);
    errors_ += std::abs(predicted_loss(index, point) - model_.loss(trial.measurement.median_us));
    ++predictions_;
  }

  [[nodiscard]] bool predicts_well() const {
    return errors_ < kSmallError * static_cast<double>(predictions_);
  }

  std::optional<std::size_t> propose_by_model() {
    if (!process_ || shortlist_.empty() ||
        model_.reports() >= fitted_at_ + std::max<std::size_t>(1, fitted_at_ / kRefitShare)) {
      refit();
    }
    ++turn_;
    std::optional<std::size_t> index;
    if (turn_ % kLocalTurn == 0 && model_.successes() >= kLocalFrom) {
      index = model_.successes() >= kChildrenFrom && predicts_well() ? child() : local();
    }
    if (!index) index = best_candidate();
    if (index) process_->add_pending(model_.point(*index).data());
    return index;
  }

  void refit() {
    process_ = model_.fit();
    fitted_at_ = model_.reports();
    for (const std::size_t index : pending_) process_->add_pending(model_.point(index).data());
    const std::vector<std::size_t> indices = candidates();
    shortlist_.clear();
    for (const std::size_t index : indices) {
      std::vector<float> point = model_.point(index);
      const QuickPosterior quick = process_->quick_posterior(point.data());
      const double mean = quick.mean + model_.prior_mean().loss(index);
      const double feasibility = model_.feasibility(point.data());
      const double improvement = log_expected_improvement(mean, quick.deviation, feasibility);
      shortlist_.push_back({index, std::move(point), mean, feasibility, improvement, {}});
    }
    std::ranges::stable_sort(shortlist_, has_more_to_gain);
    if (shortlist_.size() > kShortlist) shortlist_.resize(kShortlist);
  }

  static bool has_more_to_gain(const Candidate& a, const Candidate& b) {
    return a.log_expected_improvement > b.log_expected_improvement;
  }

  // The logarithm of the expected improvement on the best's loss, which is 0, times the
  // feasibility. Without the logarithm it would be 0 for all configurations that are far from the
  // best.
  static double log_expected_improvement(double mean, double deviation, double feasibility) {
    const double z = mean / deviation;
    const double log_density = -0.5 * z * z - 0.5 * std::log(2 * std::numbers::pi);
    const double log_feasibility = std::log(std::max(feasibility, kSmallestFeasibility)) -
                                   (feasibility < kLeastFeasibility ? kComesLast : 0);
    if (z > kFarTail) return log_feasibility + std::log(deviation) + log_density - 2 * std::log(z);
    const double below = 0.5 * std::erfc(z / std::numbers::sqrt2);
    return log_feasibility + std::log(deviation * std::exp(log_density) - mean * below);
  }

  // A random sample, which is another at each fit, the last shortlist and the leaders' neighbours.
  std::vector<std::size_t> candidates() {
    std::vector<std::size_t> indices = some_untried(kRandom);
    for (const Candidate& candidate : shortlist_) {
      if (untried_.contains(candidate.index)) indices.push_back(candidate.index);
    }
    for (const std::size_t leader : model_.leaders(kLeaders)) {
      for (const Neighbour& neighbour : neighbours(leader)) {
        if (untried_.contains(neighbour.index)) indices.push_back(neighbour.index);
      }
    }
    std::ranges::sort(indices);
    indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
    return indices;
  }

  std::optional<std::size_t> best_candidate() {
    std::erase_if(shortlist_, [this](const Candidate& c) { return !untried_.contains(c.index); });
    if (shortlist_.empty()) return std::nullopt;
    for (Candidate& candidate : shortlist_) {
      process_->update(candidate.point.data(), candidate.cache);
      candidate.log_expected_improvement = log_expected_improvement(
          candidate.mean, process_->deviation(candidate.cache), candidate.feasibility);
    }
    return std::ranges::min_element(shortlist_, has_more_to_gain)->index;
  }

  // A neighbour of each leader in turn.
  std::optional<std::size_t> local() {
    const std::vector<std::size_t> leaders = model_.leaders(kLeaders);
    const std::size_t leader = leaders[turn_ / kLocalTurn % leaders.size()];
    std::optional<Neighbour> chosen;
    double most = 0;
    for (const Neighbour& neighbour : neighbours(leader)) {
      if (!untried_.contains(neighbour.index)) continue;
      if (chosen && neighbour.distance > chosen->distance) break;
      const std::vector<float> point = model_.point(neighbour.index);
      const double rate =
          model_.feasibility(point.data()) * (1 - process_->quick_posterior(point.data()).mean);
      if (chosen && rate <= most) continue;
      chosen = neighbour;
      most = rate;
    }
    return chosen ? std::optional(chosen->index) : std::nullopt;
  }

  // The one with most to gain of a few children.
  std::optional<std::size_t> child() {
    std::optional<std::size_t> chosen;
    double most = 0;
    for (std::size_t i = 0; i < kChildren; ++i) {
      const std::optional<std::size_t> index = offspring_.child(untried_);
      if (!index) break;
      const std::vector<float> point = model_.point(*index);
      const double feasibility = model_.feasibility(point.data());
      MixtureCache cache;
      process_->update(point.data(), cache);
      const double improvement = log_expected_improvement(predicted_loss(*index, point),
                                                          process_->deviation(cache), feasibility);
      if (feasibility < kLeastFeasibility || (chosen && improvement <= most)) continue;
      chosen = index;
      most = improvement;
    }
    return chosen;
  }

  [[nodiscard]] double predicted_loss(std::size_t index, const std::vector<float>& point) const {
    return process_->quick_posterior(point.data()).mean + model_.prior_mean().loss(index);
  }

  const std::vector<Neighbour>& neighbours(std::size_t leader) {
    const auto [place, is_new] = neighbours_.try_emplace(leader);
    if (is_new) {
      place->second =
          find_neighbours(configurations_, untried_, leader, kMostDifferent, kNeighbours);
    }
    return place->second;
  }

  const std::vector<Configuration>& configurations_;
  Untried untried_;
  TimeModel model_;
  Offspring offspring_;
  std::vector<std::size_t> pending_;  // proposed and not reported
  std::optional<ProcessMixture> process_;
  std::size_t fitted_at_ = 0;  // number of reports
  std::vector<Candidate> shortlist_;
  std::map<std::size_t, std::vector<Neighbour>> neighbours_;  // of all former and present leaders
  std::size_t window_ = 0;                                    // the end of the last random sample
  std::size_t first_ = 0;                                     // proposals before the first fit
  std::size_t turn_ = 0;                                      // proposals after it
  double errors_ = 0;                                         // sum of the predicted losses' errors
  std::size_t predictions_ = 0;
};

}  // namespace

std::unique_ptr<SearchStrategy> make_model(const SearchSpace& space) {
  return std::make_unique<Model>(space);
}

}  // namespace autotune
