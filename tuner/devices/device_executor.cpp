#include "tuner/devices/device_executor.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace autotune {
namespace {

using Clock = std::chrono::steady_clock;

// A configuration that is slower than the best by this factor has one sample. Those that may come
// into the finals, which are within 1.05, have all.
constexpr double kScreeningMargin = 1.08;

// Trials show what to try next and what comes into the finals, which measure longer.
constexpr TimingPlan kTrialTiming{.samples = 3, .min_sample_us = 1000};

}  // namespace

DeviceExecutor::DeviceExecutor(const MeasuringDevice& device, std::chrono::milliseconds allowance,
                               std::stop_token stop)
    : runner_(device.make_worker, allowance, device.share),
      stop_(std::move(stop)),
      is_shared_(device.is_shared()),
      giving_up_(stop_, [this] {
        if (is_shared_) runner_.interrupt();
      }) {}

Event DeviceExecutor::run(const DeviceJob& job) {
  return std::visit([this](const auto& one) { return Event(make(one)); }, job);
}

TrialDone DeviceExecutor::make(const MeasureJob& job) {
  const auto is_over = [](const auto& time) { return time && Clock::now() >= *time; };
  if (is_over(job.deadline) || is_over(job.end) || stop_.stop_requested()) {
    return {job.id, std::nullopt};
  }
  MeasureOptions options{
      .timing = kTrialTiming, .once_per_code = job.best != nullptr, .end = job.end};
  if (job.best != nullptr && std::isfinite(job.best->us())) {
    options.timing.stop_above_us = kScreeningMargin * job.best->us();
  }
  Trial trial = runner_.run(*job.kernel, job.configuration, job.problem, *job.built, options);
  const bool was_given_up = is_shared_ && stop_.stop_requested();
  if (was_given_up || was_cut_short(trial, options)) return {job.id, std::nullopt};
  if (job.best != nullptr && trial.ok()) job.best->lower(trial.measurement.median_us);
  return {job.id, std::move(trial)};
}

FinalsDone DeviceExecutor::make(const FinalsJob& job) {
  FinalsTime time;
  if (job.time) {
    const auto left = std::max(job.time->end - Clock::now(), Clock::duration::zero());
    const auto share = std::chrono::duration_cast<Clock::duration>(job.time->share * left);
    time = {.deadline = Clock::now() + share, .end = job.time->latest};
  }
  return {job.id, run_finals(job.problem, job.finalists, job.baseline, runner_, time, stop_)};
}

RatesDone DeviceExecutor::make(const CalibrateJob&) {
  return {runner_.calibrate()};
}

}  // namespace autotune
