#include "tuner/measure/launch_timer.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "autotune/error.hpp"

#include "core/statistics.hpp"

namespace autotune {
namespace {

// The time that events around a single launch may add to it, and how much longer than later ones
// the first launches of a kernel may take.
constexpr double kEventCostUs = 10;
constexpr double kFirstLaunch = 1.15;
// Kernels shorter than this are launched by graphs; otherwise the cost of launching would be timed.
constexpr double kShortUs = 50;
constexpr double kGraphUs = 300;  // how long a graph should last
constexpr double kMaxGraphLaunches = 100;
constexpr int kMaxLaunches = 1'000'000;
// The first launches of a kernel are slower than later ones, so the estimate is too high and a
// batch gets a tenth more launches.
constexpr double kSpare = 1.1;

int launches_for(double wanted_us, double launch_us) {
  return static_cast<int>(
      std::clamp(std::ceil(wanted_us / launch_us), 1.0, static_cast<double>(kMaxLaunches)));
}

}  // namespace

// Launches that are timed as one.
class LaunchTimer::Batch {
 public:
  Batch(const LaunchTimer& timer, int launches, double launch_us)
      : enqueue_(timer.enqueue_), stream_(timer.stream_), singles_(launches) {
    if (launch_us >= kShortUs) return;
    const int in_graph =
        std::min(launches, static_cast<int>(std::min(kGraphUs / launch_us + 1, kMaxGraphLaunches)));
    graph_.emplace(stream_, [&] {
      for (int i = 0; i < in_graph; ++i) enqueue_();
    });
    graphs_ = launches / in_graph;
    singles_ = launches % in_graph;
    graph_->launch(stream_);  // the first launch of a graph also brings it to the device
  }

  void enqueue() const {
    for (int i = 0; i < graphs_; ++i) graph_->launch(stream_);
    for (int i = 0; i < singles_; ++i) enqueue_();
  }

 private:
  const std::function<void()>& enqueue_;
  const gpu::Stream& stream_;
  std::optional<gpu::Graph> graph_;
  int graphs_ = 0;
  int singles_;  // launched after the graphs
};

LaunchTimer::LaunchTimer(const gpu::Stream& stream, std::function<void()> enqueue,
                         const gpu::Nvml* nvml)
    : stream_(stream),
      enqueue_(std::move(enqueue)),
      nvml_(nvml),
      start_(stream.driver()),
      end_(stream.driver()) {}

double LaunchTimer::estimate_us() const {
  double least = 0;
  for (int i = 0; i < 2; ++i) {
    start_.record(stream_);
    enqueue_();
    end_.record(stream_);
    end_.synchronize();
    const double us = end_.elapsed_us_since(start_);
    least = i == 0 ? us : std::min(least, us);
  }
  return least;
}

std::optional<Measurement> screened_out(const TimingPlan& plan, double estimate_us) {
  if (plan.stop_above_us <= 0 || estimate_us <= kFirstLaunch * plan.stop_above_us + kEventCostUs) {
    return std::nullopt;
  }
  return Measurement{.samples_us = {estimate_us},
                     .median_us = estimate_us,
                     .launches_per_sample = 1,
                     .screened_out = true};
}

Measurement LaunchTimer::measure(const TimingPlan& plan, double estimate_us) const {
  Measurement measurement;
  measurement.launches_per_sample = plan.launches_per_sample > 0
                                        ? plan.launches_per_sample
                                        : launches_for(kSpare * plan.min_sample_us, estimate_us);
  take_samples(measurement, plan, estimate_us);
  measurement.median_us = median(measurement.samples_us);
  measurement.spread_us = median_absolute_deviation(measurement.samples_us);
  return measurement;
}

void LaunchTimer::take_samples(Measurement& measurement, const TimingPlan& plan,
                               double launch_us) const {
  int& launches = measurement.launches_per_sample;
  std::vector<double>& samples = measurement.samples_us;
  std::optional<Batch> batch;
  batch.emplace(*this, launches, launch_us);
  while (static_cast<int>(samples.size()) < plan.samples && !measurement.screened_out) {
    const double us = time(*batch, measurement);
    launch_us = us / launches;
    const bool is_long_enough = us >= plan.min_sample_us || launches == kMaxLaunches;
    if (samples.empty() && plan.launches_per_sample == 0 && !is_long_enough) {
      launches = launches_for(kSpare * plan.min_sample_us, launch_us);
      batch.emplace(*this, launches, launch_us);
      continue;  // the estimate was too high: that was a warm-up
    }
    samples.push_back(launch_us);
    // By the median, since one sample may be longer by chance.
    measurement.screened_out = plan.stop_above_us > 0 && median(samples) > plan.stop_above_us;
  }
}

double LaunchTimer::time(const Batch& batch, Measurement& measurement) const {
  start_.record(stream_);
  batch.enqueue();
  end_.record(stream_);
  if (nvml_ != nullptr) {  // while the device works
    measurement.sm_clock_mhz = nvml_->sm_clock_mhz();
    measurement.throttle_reasons |= nvml_->throttle_reasons();
  }
  end_.synchronize();
  const double us = end_.elapsed_us_since(start_);
  if (us == 0) throw Error("the GPU's clock stands still");
  return us;
}

}  // namespace autotune
