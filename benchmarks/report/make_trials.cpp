// Fills a tuning database with made-up trials of real configurations, to see how large ones fare.
//
// usage: make_trials FILE [TRIALS] [SIZES]
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <random>
#include <vector>

#include "core/hash.hpp"
#include "db/tuning_database.hpp"
#include "kernel_templates/kernel_set.hpp"

namespace autotune {
namespace {

constexpr std::size_t kSamples = 20;

Problem problem_of(std::size_t number) {
  const auto size = static_cast<std::int64_t>(256 + 64 * number);
  return Problem("gemm", {{"m", size}, {"n", size}, {"k", size}},
                 {{"type", "f32"}, {"layout", "NN"}, {"math", "strict"}});
}

// One in twenty fails; the times of the others depend on their values, with noise.
Trial made_up(const KernelTemplate& kernel, const Configuration& configuration,
              const Problem& problem, std::mt19937_64& random) {
  Trial trial{.problem = problem,
              .template_name = kernel.name,
              .configuration = configuration,
              .resources = {.registers = 128, .spill_bytes = 0, .shared_bytes = 32768}};
  if (random() % 20 == 0) {
    trial.status = TrialStatus::rejected_spills;
    trial.detail = "spills 16 bytes";
    return trial;
  }
  double slowness = 1;
  for (const std::int64_t value : configuration.values()) {
    slowness += 0.05 * std::abs(std::log2(static_cast<double>(value + 1)) - 2);
  }
  const double least_us = kernel.operation->work(problem).operations * 2e-8;
  std::lognormal_distribution<double> noise(0, 0.1);
  for (std::size_t i = 0; i < kSamples; ++i) {
    trial.measurement.samples_us.push_back(least_us * slowness * noise(random));
  }
  trial.measurement.median_us = trial.measurement.samples_us.front();
  trial.verification = {true, 1.5, 67, 1e-7};
  return trial;
}

void fill(TuningDatabase& database, std::size_t trials, std::size_t sizes) {
  std::mt19937_64 random(1);
  const RunInfo run = {"0123456789abcdef0123456789abcdef", "NVIDIA H200", "GPU-1", "make_trials",
                       "2026-11-23T00:00:00Z"};
  const Environment environment = {"580.159.04", "13.0.88", "0.1.0", kMeasuringProtocol};
  const std::string device_class = "sm_90 made up";
  database.put_rates(device_class, environment, {65'000, 4'200});
  std::size_t left = trials;
  while (left > 0) {
    for (const char* const name : {"gemm_simt", "gemm_tma", "gemm_tiled"}) {
      const KernelTemplate& kernel = *built_in_kernels().find(name);
      const auto configurations = kernel.space.enumerate().configurations;
      const TrialScope scope = {device_class, kernel.name, kernel.space_version,
                                content_hash(kernel.source), environment};
      for (std::size_t size = 0; size < sizes && left > 0; ++size) {
        std::vector<Trial> made;
        for (std::size_t i = 0; i < std::min(left, trials / sizes / 3 + 1); ++i) {
          const Configuration& any = configurations[random() % configurations.size()];
          made.push_back(made_up(kernel, any, problem_of(size), random));
        }
        left -= made.size();
        database.add_trials(scope, run, made);
      }
    }
  }
}

}  // namespace
}  // namespace autotune

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: make_trials FILE [TRIALS] [SIZES]\n";
    return 2;
  }
  try {
    autotune::TuningDatabase database = autotune::TuningDatabase::open(argv[1]);
    autotune::fill(database, argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1'000'000,
                   argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 8);
  } catch (const std::exception& error) {
    std::cerr << "make_trials: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
