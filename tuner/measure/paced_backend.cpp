#include "tuner/measure/paced_backend.hpp"

#include <thread>

#include "core/statistics.hpp"

namespace autotune {

Pace::Duration Pace::now() const {
  return std::chrono::steady_clock::now().time_since_epoch();
}

void Pace::rest(Duration time) {
  std::this_thread::sleep_for(time);
}

// Takes one sample at a time. All have as many launches as the first.
Timing PacedBackend::time(const TimingPlan& plan, double estimate_us) {
  TimingPlan next = plan;
  next.samples = 1;
  Timing all = pace_.keep([&] { return backend_.time(next, estimate_us); });
  Measurement& measurement = all.measurement;
  next.launches_per_sample = measurement.launches_per_sample;
  for (int i = 1; i < plan.samples && all.launched && !measurement.screened_out; ++i) {
    const Measurement one =
        pace_.keep([&] { return backend_.time(next, measurement.samples_us.back()); }).measurement;
    measurement.samples_us.insert(measurement.samples_us.end(), one.samples_us.begin(),
                                  one.samples_us.end());
    measurement.screened_out =
        plan.stop_above_us > 0 && median(measurement.samples_us) > plan.stop_above_us;
    measurement.sm_clock_mhz = one.sm_clock_mhz;
    measurement.throttle_reasons |= one.throttle_reasons;
  }
  measurement.median_us = median(measurement.samples_us);
  measurement.spread_us = median_absolute_deviation(measurement.samples_us);
  return all;
}

std::string PacedBackend::note() const {
  const std::string note = backend_.note();
  return (note.empty() ? "" : note + "; ") + "while others used the device";
}

}  // namespace autotune
