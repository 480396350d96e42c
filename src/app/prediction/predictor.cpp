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
  Corrector(const Portfolio* portfolio, Evidence evidence, const ShapeFeatures& shape)
      : portfolio_(evidence == Evidence::model ? nullptr : portfolio), evidence_(evidence) {
    if (portfolio_ == nullptr) return;
    for (const ShapeFeatures& centre : portfolio_->centres) {
      likeness_.push_back(likeness(shape, centre, portfolio_->scales));
      nearest_ = std::max(nearest_, likeness_.back());
    }
  }

  struct Log {
    double us_per_cycle = 0;  // its logarithm
    double error = 0;
  };

  [[nodiscard]] Log of(const Correction& correction) const {
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
    if (portfolio_ != nullptr) {
      for (const PortfolioEntry& entry : portfolio_->entries) {
        if (entry.kernel == &kernel && entry.configuration == configuration) {
          return of(entry.correction);
        }
      }
      for (const Portfolio::TemplateCorrection& one : portfolio_->templates) {
        if (one.kernel == &kernel) return of(one.correction);
      }
    }
    return {-std::log(kNominalMhz), kModelError};
  }

 private:
  const Portfolio* portfolio_;
  Evidence evidence_;
  std::vector<double> likeness_;
  double nearest_ = 0;
};

class Candidates {
 public:
  Candidates(const PredictionQuery& query, std::span<const Portfolio> portfolios)
      : query_(query),
        problem_(query.problem),
        shape_(shape_features(query.problem, query.aligned)),
        portfolio_(most_similar(query.device, query.problem.math, portfolios)),
        evidence_(portfolio_ == nullptr ? Evidence::model : evidence_of(query.device, *portfolio_)),
        corrector_(portfolio_, evidence_, shape_) {}

  void add_portfolio() {
    if (portfolio_ == nullptr) return;
    for (const PortfolioEntry& entry : portfolio_->entries) {
      if (!runs(*entry.kernel, entry.configuration)) continue;
      const Corrector::Log log = evidence_ == Evidence::model
                                     ? corrector_.of(*entry.kernel, entry.configuration)
                                     : corrector_.of(entry.correction);
      add(*entry.kernel, entry.configuration, log, Origin::portfolio);
    }
  }

  void add_defaults() {
    for (const KernelTemplate& kernel : built_in_kernels().templates()) {
      if (!computes(kernel, problem_)) continue;
      const Configuration configuration = kernel.default_configuration(problem_);
      if (find(kernel, configuration) != nullptr || !runs(kernel, configuration)) continue;
      add(kernel, configuration, corrector_.of(kernel, configuration), Origin::standard);
    }
  }

  // A winner's time tells how far the prediction for its own shape is off, and the more alike the
  // shapes are, the more of that holds here.
  void add_winner(const Winner& winner) {
    const KernelTemplate* kernel = built_in_kernels().find(winner.template_name);
    if (kernel == nullptr || !runs(*kernel, winner.configuration)) return;
    const GemmProblem tuned = gemm_problem(winner.problem);
    const ShapeFeatures there = shape_features(
        tuned, unpadded_traits(built_in_operations().at(kGemm), winner.problem).aligned);
    const Corrector::Log log_there =
        Corrector(portfolio_, evidence_, there).of(*kernel, winner.configuration);
    const double residual = std::log(winner.median_us) -
                            std::log(cycles(*kernel, winner.configuration, winner.problem)) -
                            log_there.us_per_cycle;
    const double alike = likeness(shape_, there, scales());
    Prediction* known = find(*kernel, winner.configuration);
    if (known == nullptr) {
      add(*kernel, winner.configuration, corrector_.of(*kernel, winner.configuration),
          Origin::winner);
      known = &all_.back();
    }
    if (known->winner) return;  // of a nearer problem
    known->time_us *= std::exp(alike * residual);
    known->error = std::hypot(known->error * std::sqrt(1 - alike * alike), kMeasuringError);
    known->winner = winner;
    known->evidence = std::min(known->evidence, Evidence::this_device);
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
  [[nodiscard]] bool runs(const KernelTemplate& kernel, const Configuration& configuration) const {
    return computes(kernel, problem_) && runs_on(kernel, query_.device.capability) &&
           needed_capability(kernel, configuration) <= query_.device.capability;
  }
  [[nodiscard]] double cycles(const KernelTemplate& kernel, const Configuration& configuration,
                              const Problem& problem) const {
    return kernel.predicted_cycles(configuration, problem, query_.device.sm,
                                   query_.device.sm_count);
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
                    evidence_, origin, std::nullopt});
  }
  // Without a portfolio an octave of size matters as much as a layout.
  [[nodiscard]] ShapeFeatures scales() const {
    return portfolio_ == nullptr ? ShapeFeatures{2, 2, 2, 2, 2, 2} : portfolio_->scales;
  }

  const PredictionQuery& query_;
  Problem problem_;
  ShapeFeatures shape_;
  const Portfolio* portfolio_;
  Evidence evidence_;
  Corrector corrector_;
  std::vector<Prediction> all_;
};

}  // namespace

PredictedDevice predicted_device(const DeviceInfo& device) {
  return {device.device_class(), 10 * device.compute_major + device.compute_minor, device.sm_count,
          device.sm};
}

PredictedDevice predicted_device(const std::string& device_class) {
  const DeviceClass parsed = parse_device_class(device_class);
  PredictedDevice result{.device_class = device_class, .sm_count = parsed.sm_count};
  if (const auto limits = sm_limits(parsed.architecture)) {
    result.sm = *limits;
    result.capability = std::stoi(parsed.architecture.substr(3));
  }
  return result;
}

std::vector<Prediction> predict(const PredictionQuery& query,
                                std::span<const Portfolio> portfolios) {
  Candidates candidates(query, portfolios);
  candidates.add_portfolio();
  candidates.add_defaults();
  for (const Winner& winner : query.known) candidates.add_winner(winner);
  return std::move(candidates).ranked();
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
  return fmt::format("{:.1f} us +- {:.0f} %, {}, {}", prediction.time_us, 100 * prediction.error,
                     origin, evidence);
}

}  // namespace autotune
