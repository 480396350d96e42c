#include "select/predictor.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/time_text.hpp"
#include "operation/gemm/gemm.hpp"
#include "select/candidate_features.hpp"
#include "select/shape_kernel.hpp"

namespace autotune {
namespace {

constexpr double kNominalMhz = 1700;      // for a device of which no time is known
constexpr double kModelError = 0.4;       // of the cost model alone
constexpr double kLikeDeviceError = 0.1;  // that a device which is only like it adds
constexpr double kMeasuringError = 0.02;
constexpr double kLeastAlike = 0.1;  // of shapes, for a time of one to say anything about the other
// The part of its error that a candidate is ranked as if it took longer by.
constexpr double kCaution = 0.25;

Evidence evidence_of(const PredictedDevice& device, const Portfolio& portfolio) {
  if (portfolio.device_class == device.device_class) return Evidence::this_device;
  const bool is_like = are_alike(parse_device_class(portfolio.device_class),
                                 parse_device_class(device.device_class));
  return is_like ? Evidence::like_device : Evidence::model;
}

// The portfolio of the most similar device; nullptr when there is none for the math and the types.
const Portfolio* most_similar(const PredictedDevice& device, const GemmProblem& problem,
                              std::span<const Portfolio> portfolios) {
  const Portfolio* best = nullptr;
  for (const Portfolio& one : portfolios) {
    if (one.math != problem.math || one.types != problem.types) continue;
    if (best == nullptr || evidence_of(device, one) < evidence_of(device, *best)) best = &one;
  }
  return best;
}

// The times of candidates on one device, by the cost model and what a portfolio knows of it.
class TimePredictor {
 public:
  TimePredictor(const PredictionQuery& query, const Portfolio& portfolio)
      : device_(query.device),
        portfolio_(portfolio),
        evidence_(evidence_of(device_, portfolio)),
        octaves_outside_(octaves_outside(query.problem)) {}

  [[nodiscard]] Evidence evidence() const { return evidence_; }

  // Microseconds; sets the launches and the cycles of the inputs.
  [[nodiscard]] std::vector<double> us(std::span<ModelInput> inputs) const {
    const SmLimits& sm = device_.info.sm;
    const int sm_count = device_.info.sm_count;
    for (ModelInput& one : inputs) {
      one.launch = tiled_launch(*one.kernel, *one.configuration, *one.problem, sm_count);
      one.cycles =
          one.kernel->cost_model(*one.configuration, one.launch, *one.problem, sm, sm_count);
    }
    std::vector<double> result(inputs.size(), -std::log(kNominalMhz));
    if (evidence_ != Evidence::model) {
      result = portfolio_.trees.predict(portfolio_.features.of(inputs, device_.info));
    }
    for (std::size_t i = 0; i < result.size(); ++i) {
      result[i] = inputs[i].cycles * std::exp(result[i]);
    }
    return result;
  }

  // The standard deviation of the logarithm of a template's time for the query's problem.
  [[nodiscard]] double error(const KernelTemplate& kernel) const {
    const auto found = portfolio_.errors.find(&kernel);
    if (evidence_ == Evidence::model || found == portfolio_.errors.end()) return kModelError;
    const double other = evidence_ == Evidence::like_device ? kLikeDeviceError : 0;
    const double far = kModelError * (1 - std::exp2(-octaves_outside_));
    return std::sqrt(found->second * found->second + other * other + far * far);
  }

 private:
  // How far a shape is from those that were measured.
  [[nodiscard]] double octaves_outside(const GemmProblem& problem) const {
    const std::array<std::int64_t, 3> sizes = {problem.m, problem.n, problem.k};
    double octaves = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const double size = std::log2(static_cast<double>(sizes[i]));
      const auto [least, most] = portfolio_.measured[i];
      octaves += std::max({least - size, size - most, 0.0});
    }
    return octaves;
  }

  const PredictedDevice& device_;
  const Portfolio& portfolio_;
  Evidence evidence_;
  double octaves_outside_;
};

// A winner of another shape. Its time tells how far the prediction for that shape is off.
struct Known {
  const Winner* winner = nullptr;
  const KernelTemplate* kernel = nullptr;
  GemmProblem gemm;     // its shape
  double alike = 0;     // that shape and the one that is asked for
  double residual = 0;  // log(measured / predicted)
};

// The candidates for one query.
class Candidates {
 public:
  Candidates(const PredictionQuery& query, const Portfolio& portfolio)
      : query_(query), problem_(query.problem), times_(query, portfolio) {
    for (const KernelTemplate* kernel : portfolio.kernels.get().for_device(query.device.info)) {
      if (computes(*kernel, problem_)) kernels_.push_back(kernel);
    }
    all_.reserve(portfolio.entries.size() + kernels_.size() + query.known.size());
    for (const PortfolioEntry& entry : portfolio.entries) {
      add(*entry.kernel, entry.configuration, Origin::portfolio);
    }
    // Nothing is known of templates that were not measured.
    for (const KernelTemplate* kernel : kernels_) {
      if (!portfolio.errors.contains(kernel)) continue;
      add(*kernel, kernel->default_configuration(problem_), Origin::standard);
    }
    for (const Winner& winner : query.known) {
      add_known(winner, portfolio.kernels.get().find(winner.template_name));
    }
  }

  [[nodiscard]] std::vector<Prediction> ranked() && {
    predict_times();
    correct_by_winners();
    std::vector<std::pair<double, Prediction*>> ranks;  // of like ones the first goes first
    for (Prediction& one : all_) {
      ranks.emplace_back(cautious_us(one), &one);
    }
    std::ranges::sort(ranks);
    std::vector<Prediction> result;
    result.reserve(all_.size());
    for (const auto& [rank, one] : ranks) result.push_back(std::move(*one));
    return result;
  }

 private:
  // Leaves out what does not run, and what is there. A portfolio's entries differ.
  void add(const KernelTemplate& kernel, const Configuration& configuration, Origin origin) {
    if (!runs(kernel, configuration)) return;
    if (origin != Origin::portfolio && find(kernel, configuration) != nullptr) return;
    all_.push_back({.kernel = &kernel,
                    .configuration = configuration,
                    .error = times_.error(kernel),
                    .evidence = times_.evidence(),
                    .origin = origin});
  }

  void add_known(const Winner& winner, const KernelTemplate* kernel) {
    if (kernel == nullptr || !runs(*kernel, winner.configuration)) return;
    add(*kernel, winner.configuration, Origin::winner);
    Known known{.winner = &winner, .kernel = kernel, .gemm = gemm_problem(winner.problem)};
    known.alike = likeness(shape_features(query_.problem, query_.aligned),
                           shape_features(known.gemm, is_aligned(known)));
    known_.push_back(known);
  }

  // All times at once, those of the winners for their own shapes among them.
  void predict_times() {
    std::vector<ModelInput> inputs;
    inputs.reserve(all_.size() + known_.size());
    for (const Prediction& one : all_) {
      inputs.push_back(
          {one.kernel, &one.configuration, &query_.problem, &problem_, query_.aligned});
    }
    for (const Known& one : known_) {
      inputs.push_back({one.kernel, &one.winner->configuration, &one.gemm, &one.winner->problem,
                        is_aligned(one)});
    }
    const std::vector<double> us = times_.us(inputs);
    for (std::size_t i = 0; i < all_.size(); ++i) all_[i].time_us = us[i];
    for (std::size_t i = 0; i < known_.size(); ++i) {
      known_[i].residual = std::log(known_[i].winner->median_us / us[all_.size() + i]);
    }
  }

  // The more alike the shapes are, the more of what a winner's prediction is off by holds here.
  // Where the model is not of this device, what all winners are off by on average is the device's,
  // and holds for all candidates.
  void correct_by_winners() {
    double common = 0;
    if (times_.evidence() != Evidence::this_device && !known_.empty()) {
      for (const Known& one : known_) common += one.residual / static_cast<double>(known_.size());
    }
    for (Prediction& one : all_) one.time_us *= std::exp(common);
    for (const Known& one : known_) {
      Prediction& candidate = *find(*one.kernel, one.winner->configuration);
      if (candidate.winner) continue;  // of a nearer problem
      if (one.alike < kLeastAlike && candidate.origin != Origin::winner) continue;
      candidate.time_us *= std::exp(one.alike * (one.residual - common));
      candidate.error =
          std::hypot(candidate.error * std::sqrt(1 - one.alike * one.alike), kMeasuringError);
      candidate.winner = std::make_shared<const Winner>(*one.winner);
      candidate.evidence = Evidence::this_device;
    }
  }

  [[nodiscard]] static bool is_aligned(const Known& known) {
    return unpadded_traits(*known.kernel->operation, known.winner->problem).aligned;
  }
  [[nodiscard]] bool runs(const KernelTemplate& kernel, const Configuration& configuration) const {
    return std::ranges::find(kernels_, &kernel) != kernels_.end() &&
           needed_capability(kernel, configuration) <= query_.device.capability();
  }
  [[nodiscard]] Prediction* find(const KernelTemplate& kernel, const Configuration& configuration) {
    const auto found = std::ranges::find_if(all_, [&](const Prediction& one) {
      return one.kernel == &kernel && one.configuration == configuration;
    });
    return found == all_.end() ? nullptr : &*found;
  }

  const PredictionQuery& query_;
  Problem problem_;
  TimePredictor times_;
  std::vector<const KernelTemplate*> kernels_;  // that compute the problem on the device
  std::vector<Prediction> all_;
  std::vector<Known> known_;
};

}  // namespace

PredictedDevice predicted_device(const DeviceInfo& device) {
  return {device.device_class(), device};
}

PredictedDevice predicted_device(const std::string& device_class) {
  constexpr std::int64_t kStaticShared = 48 << 10;  // of every architecture that is known
  const DeviceClass parsed = parse_device_class(device_class);
  PredictedDevice result{.device_class = device_class, .info = {}};
  const auto limits = sm_limits(parsed.architecture);
  if (!limits) return result;
  const int capability = std::stoi(parsed.architecture.substr(3));
  result.info.compute_major = capability / 10;
  result.info.compute_minor = capability % 10;
  result.info.sm_count = parsed.sm_count;
  result.info.sm = *limits;
  result.info.shared_per_block = kStaticShared;
  return result;
}

std::vector<Prediction> predict(const PredictionQuery& query,
                                std::span<const Portfolio> portfolios) {
  if (!query.device.has_model()) return {};
  const Portfolio* portfolio = most_similar(query.device, query.problem, portfolios);
  if (portfolio == nullptr) return {};
  return Candidates(query, *portfolio).ranked();
}

bool fits_device(const KernelTemplate& kernel, const Configuration& configuration,
                 const DeviceInfo& device) {
  const std::vector<Constraint> constraints = device_constraints(kernel, device);
  return std::ranges::all_of(
      constraints, [&](const Constraint& constraint) { return constraint.holds(configuration); });
}

MatchKind match_kind(const Prediction& prediction) {
  return prediction.winner ? MatchKind::nearest_size : MatchKind::predicted;
}

double cautious_us(const Prediction& prediction) {
  return prediction.time_us * std::exp(kCaution * prediction.error);
}

std::string time_text(const Prediction& prediction) {
  return fmt::format("{} +- {:.0f} %", time_text(prediction.time_us), 100 * prediction.error);
}

std::string to_string(const Prediction& prediction) {
  const char* const origin = prediction.winner                        ? "a winner"
                             : prediction.origin == Origin::portfolio ? "the portfolio"
                                                                      : "a default";
  const char* evidence = "by the cost model alone";
  if (prediction.evidence == Evidence::this_device) {
    evidence = "corrected by trials of this device";
  } else if (prediction.evidence == Evidence::like_device) {
    evidence = "corrected by trials of a like device";
  }
  return fmt::format("{}, {}, {}", time_text(prediction), origin, evidence);
}

}  // namespace autotune
