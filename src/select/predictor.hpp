// Predicts which configuration is the fastest for a shape that was not tuned, and its time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "autotune/configuration.hpp"
#include "autotune/match_kind.hpp"
#include "autotune/problem.hpp"

#include "core/device_info.hpp"
#include "core/winner.hpp"
#include "kernel_templates/kernel_template.hpp"
#include "select/portfolio.hpp"

namespace autotune {

// The properties of a device that predictions depend on.
struct PredictedDevice {
  std::string device_class;
  DeviceInfo info;  // the limits of its SMs and blocks; the rest may be unknown

  // Returns whether the cost model knows enough of the device to predict anything.
  [[nodiscard]] bool has_model() const { return info.sm.registers_per_sm > 0 && info.sm_count > 0; }
  [[nodiscard]] int capability() const { return 10 * info.compute_major + info.compute_minor; }
};
[[nodiscard]] PredictedDevice predicted_device(const DeviceInfo& device);
// A device that may not be here, from its device class alone.
[[nodiscard]] PredictedDevice predicted_device(const std::string& device_class);

// The source of what a prediction rests on, besides the cost model.
enum class Evidence : std::uint8_t {
  this_device,  // trials of this device class
  like_device,  // trials of one with the same architecture and about as many SMs
  model         // none
};

// The reason why a configuration is among the candidates.
enum class Origin : std::uint8_t { portfolio, winner, standard };

struct Prediction {
  const KernelTemplate* kernel = nullptr;
  Configuration configuration;
  double time_us = 0;
  double error = 0;  // standard deviation of log(time): 0.1 is 10 %
  Evidence evidence = Evidence::model;
  Origin origin = Origin::portfolio;
  // The same configuration's for the nearest shape that it won; null where none is known.
  std::shared_ptr<const Winner> winner;
};

// How many winners of other problems a query has, the nearest ones: query and gemm() then agree.
inline constexpr std::size_t kKnownWinners = 4;

struct PredictionQuery {
  GemmProblem problem;   // row-major
  bool aligned = false;  // the operands are, as CodeTraits has it
  PredictedDevice device;
  std::span<const Winner> known;  // of this device class: the kKnownWinners nearest ones
};

// All candidates, the best first: by the predicted time, and of two like times the one that is more
// certain. They are the entries of the portfolio of the query's math for the most similar device,
// the known winners of other shapes, and each template's default. Templates that do not compute the
// problem, and configurations that the device's compute capability does not reach, are left out;
// whether a configuration fits the device's memories is for the caller to see. Deterministic, and
// a function of its arguments alone. Empty where the device has no model or no portfolio is of the
// math: nothing then says how the times of different templates compare.
[[nodiscard]] std::vector<Prediction> predict(const PredictionQuery& query,
                                              std::span<const Portfolio> portfolios);

// Returns whether a configuration's blocks fit the device.
[[nodiscard]] bool fits_device(const KernelTemplate& kernel, const Configuration& configuration,
                               const DeviceInfo& device);

// nearest_size for a configuration that won for another shape, else predicted.
[[nodiscard]] MatchKind match_kind(const Prediction& prediction);

// The time by which predictions are ranked: a less certain one counts as if it took longer.
[[nodiscard]] double cautious_us(const Prediction& prediction);

// "12.3 us +- 8 %".
[[nodiscard]] std::string time_text(const Prediction& prediction);
// "12.3 us +- 8 %, the portfolio, corrected by trials of this device".
[[nodiscard]] std::string to_string(const Prediction& prediction);

}  // namespace autotune
