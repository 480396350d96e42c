#include "speed.hpp"

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "select/predictor.hpp"
#include "shapes.hpp"

namespace autotune {
namespace {

constexpr std::size_t kShapes = 64;
constexpr std::uint64_t kSeed = 7;
constexpr int kRounds = 60;

double processor_us() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return 1e6 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_nsec);
}

}  // namespace

void print_prediction_speed(const ShippedPortfolios& shipped, Math math) {
  const std::vector<Portfolio>& portfolios = shipped.of(math);
  if (portfolios.empty()) throw Error("no portfolio ships for " + to_string(math));
  const PredictedDevice device = predicted_device(portfolios.front().device_class);
  const std::vector<GemmProblem> shapes = random_shapes(kShapes, kSeed, math);
  double best_us = std::numeric_limits<double>::infinity();
  std::size_t candidates = 0;
  for (int round = 0; round < kRounds; ++round) {
    candidates = 0;
    const double start_us = processor_us();
    for (const GemmProblem& shape : shapes) {
      candidates +=
          predict({.problem = shape, .aligned = true, .device = device, .known = {}}, portfolios)
              .size();
    }
    best_us = std::min(best_us, processor_us() - start_us);
  }
  fmt::print("{} {}: {:.1f} us for a prediction, {:.1f} candidates\n",
             portfolios.front().device_label, to_string(math), best_us / kShapes,
             static_cast<double>(candidates) / kShapes);
}

}  // namespace autotune
