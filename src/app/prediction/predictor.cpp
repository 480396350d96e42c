#include "prediction/predictor.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "kernel_templates/kernel_registry.hpp"
#include "operation/gemm/gemm.hpp"

namespace autotune {
namespace {

constexpr double kNominalMhz = 1700;      // for a device of which no time is known
constexpr double kModelError = 0.4;       // of the cost model alone
constexpr double kLikeDeviceError = 0.1;  // that a device which is only like it adds
constexpr double kMeasuringError = 0.02;
constexpr double kLeastAlike = 0.1;  // of shapes, for a time of one to say anything about the other
constexpr double kMostSmRatio = 1.5;  // between the SMs of like devices
// A less certain candidate is ranked as if it took longer by this part of its error.
constexpr double kCaution = 0.25;

Evidence evidence_of(const PredictedDevice& device, const Portfolio& portfolio) {
  if (portfolio.device_class == device.device_class) return Evidence::this_device;
  const DeviceClass other = parse_device_class(portfolio.device_class);
  const DeviceClass own = parse_device_class(device.device_class);
  const double ratio = static_cast<double>(own.sm_count) / std::max(other.sm_count, 1);
  const bool is_like =
      own.architecture == other.architecture && ratio <= kMostSmRatio && ratio >= 1 / kMostSmRatio;
  return is_like ? Evidence::like_device : Evidence::model;
}

// The portfolio of the most similar device; nullptr when there is none for the math.
const Portfolio* most_similar(const PredictedDevice& device, Math math,
                              std::span<const Portfolio> portfolios) {
  const Portfolio* best = nullptr;
  for (const Portfolio& one : portfolios) {
    if (one.math != math) continue;
    if (best == nullptr || evidence_of(device, one) < evidence_of(device, *best)) best = &one;
  }
  return best;
}

// What is known of one shape: its likeness to each centre.
class Corrector {
 public:
  Corrector(const Portfolio& portfolio, Evidence evidence, const ShapeFeatures& shape)
      : portfolio_(portfolio), evidence_(evidence) {
    if (evidence == Evidence::model) return;
    for (const ShapeFeatures& centre : portfolio.centres) {
      likeness_.push_back(likeness(shape, centre, portfolio.scales));
      nearest_ = std::max(nearest_, likeness_.back());
    }
  }

  struct Log {
    double us_per_cycle = 0;  // its logarithm
    double error = 0;
  };

  [[nodiscard]] Log of(const Correction& correction) const {
    if (evidence_ == Evidence::model) return {-std::log(kNominalMhz), kModelError};
    double log = correction.mean;
    for (std::size_t i = 0; i < likeness_.size(); ++i) {
      log += correction.weights[i] * likeness_[i];
    }
    // Far from all centres little more than the model is known.
    const double far = kModelError * (1 - nearest_);
    const double other = evidence_ == Evidence::like_device ? kLikeDeviceError : 0;
    return {log, std::sqrt(correction.error * correction.error + far * far + other * other)};
  }

  // Of a configuration that need not be in the portfolio.
  [[nodiscard]] Log of(const KernelTemplate& kernel, const Configuration& configuration) const {
    for (const PortfolioEntry& entry : portfolio_.entries) {
      if (entry.kernel == &kernel && entry.configuration == configuration) {
        return of(entry.correction);
      }
    }
    for (const Portfolio::TemplateCorrection& one : portfolio_.templates) {
      if (one.kernel == &kernel) return of(one.correction);
    }
    return of(unmeasured());
  }

 private:
  // Of a template that nothing is known of on this device: as slow as the slowest of the others.
  [[nodiscard]] Correction unmeasured() const {
    Correction result{.mean = -std::log(kNominalMhz), .error = kModelError, .weights = {}};
    for (const Portfolio::TemplateCorrection& one : portfolio_.templates) {
      result.mean = std::max(result.mean, one.correction.mean);
    }
    result.weights.resize(likeness_.size());
    return result;
  }

  const Portfolio& portfolio_;
  Evidence evidence_;
  std::vector<double> likeness_;
  double nearest_ = 0;
};

class Candidates {
 public:
  Candidates(const PredictionQuery& query, const Portfolio& portfolio)
      : query_(query),
        problem_(query.problem),
        shape_(shape_features(query.problem, query.aligned)),
        portfolio_(portfolio),
        evidence_(evidence_of(query.device, portfolio)),
        corrector_(portfolio, evidence_, shape_) {
    for (const KernelTemplate* kernel : built_in_kernels().for_device(query.device.info)) {
      if (computes(*kernel, problem_)) kernels_.push_back(kernel);
    }
  }

  void add_portfolio() {
    for (const PortfolioEntry& entry : portfolio_.entries) {
      if (!runs(*entry.kernel, entry.configuration)) continue;
      add(*entry.kernel, entry.configuration, corrector_.of(entry.correction), Origin::portfolio);
    }
  }

  void add_defaults() {
    for (const KernelTemplate* kernel : kernels_) {
      const Configuration configuration = kernel->default_configuration(problem_);
      if (find(*kernel, configuration) != nullptr || !runs(*kernel, configuration)) continue;
      add(*kernel, configuration, corrector_.of(*kernel, configuration), Origin::standard);
    }
  }

  // A winner's time tells how far the prediction for its own shape is off, and the more alike the
  // shapes are, the more of that holds here. Where the corrections are not of this device, what all
  // winners are off by on average is the device's, and holds for all candidates.
  void add_winners(std::span<const Winner> winners) {
    std::vector<Known> known;
    double common = 0;
    for (const Winner& winner : winners) {
      const KernelTemplate* kernel = built_in_kernels().find(winner.template_name);
      if (kernel == nullptr || !runs(*kernel, winner.configuration)) continue;
      known.push_back(known_from(*kernel, winner));
      common += known.back().residual;
    }
    if (known.empty()) return;
    common = evidence_ == Evidence::this_device ? 0 : common / static_cast<double>(known.size());
    for (const Known& one : known) {
      if (find(*one.kernel, one.winner->configuration) == nullptr) {
        add(*one.kernel, one.winner->configuration,
            corrector_.of(*one.kernel, one.winner->configuration), Origin::winner);
      }
    }
    for (Prediction& one : all_) one.time_us *= std::exp(common);
    for (const Known& one : known) {
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

  [[nodiscard]] std::vector<Prediction> ranked() && {
    const auto rank = [](const Prediction& one) {
      return one.time_us * std::exp(kCaution * one.error);
    };
    std::stable_sort(all_.begin(), all_.end(),
                     [&](const Prediction& a, const Prediction& b) { return rank(a) < rank(b); });
    return std::move(all_);
  }

 private:
  struct Known {
    const KernelTemplate* kernel = nullptr;
    const Winner* winner = nullptr;
    double alike = 0;     // its shape and the one that is asked for
    double residual = 0;  // log(measured / predicted)
  };

  [[nodiscard]] Known known_from(const KernelTemplate& kernel, const Winner& winner) const {
    const ShapeFeatures there = shape_features(
        gemm_problem(winner.problem), unpadded_traits(*kernel.operation, winner.problem).aligned);
    const Corrector::Log predicted =
        Corrector(portfolio_, evidence_, there).of(kernel, winner.configuration);
    return {&kernel, &winner, likeness(shape_, there, portfolio_.scales),
            std::log(winner.median_us / cycles(kernel, winner.configuration, winner.problem)) -
                predicted.us_per_cycle};
  }

  [[nodiscard]] bool runs(const KernelTemplate& kernel, const Configuration& configuration) const {
    return std::find(kernels_.begin(), kernels_.end(), &kernel) != kernels_.end() &&
           needed_capability(kernel, configuration) <= query_.device.capability();
  }
  [[nodiscard]] double cycles(const KernelTemplate& kernel, const Configuration& configuration,
                              const Problem& problem) const {
    return kernel.predicted_cycles(configuration, problem, query_.device.info.sm,
                                   query_.device.info.sm_count);
  }
  [[nodiscard]] Prediction* find(const KernelTemplate& kernel, const Configuration& configuration) {
    const auto found = std::find_if(all_.begin(), all_.end(), [&](const Prediction& one) {
      return one.kernel == &kernel && one.configuration == configuration;
    });
    return found == all_.end() ? nullptr : &*found;
  }
  void add(const KernelTemplate& kernel, const Configuration& configuration,
           const Corrector::Log& log, Origin origin) {
    all_.push_back({&kernel, configuration,
                    cycles(kernel, configuration, problem_) * std::exp(log.us_per_cycle), log.error,
                    evidence_, origin, nullptr});
  }

  const PredictionQuery& query_;
  Problem problem_;
  ShapeFeatures shape_;
  const Portfolio& portfolio_;
  Evidence evidence_;
  Corrector corrector_;
  std::vector<const KernelTemplate*> kernels_;  // that compute the problem on the device
  std::vector<Prediction> all_;
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
  const Portfolio* portfolio = most_similar(query.device, query.problem.math, portfolios);
  if (portfolio == nullptr) return {};
  Candidates candidates(query, *portfolio);
  candidates.add_portfolio();
  candidates.add_defaults();
  candidates.add_winners(query.known);
  return std::move(candidates).ranked();
}

bool fits_device(const KernelTemplate& kernel, const Configuration& configuration,
                 const DeviceInfo& device) {
  const std::vector<Constraint> constraints = device_constraints(kernel, device);
  return std::all_of(constraints.begin(), constraints.end(),
                     [&](const Constraint& constraint) { return constraint.holds(configuration); });
}

MatchKind match_kind(const Prediction& prediction) {
  return prediction.winner ? MatchKind::nearest_size : MatchKind::predicted;
}

std::string time_text(const Prediction& prediction) {
  return fmt::format("{:.1f} us +- {:.0f} %", prediction.time_us, 100 * prediction.error);
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
