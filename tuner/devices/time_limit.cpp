#include "tuner/devices/time_limit.hpp"

#include <algorithm>
#include <cstdint>

#include "tuner/devices/trial_runner.hpp"

namespace autotune {
namespace {

// The slowest kernel worth waiting for, in operations a second, on the slowest device supported.
constexpr double kSlowestRate = 2e10;
constexpr double kLongest_s = 24 * 3600;

// The time besides the work that a worker with an open device may take to answer.
constexpr std::chrono::milliseconds kWarmAllowance(5000);
// A factor of TimingPlan::stop_above_us, which is 1.08 times the best.
constexpr double kHopeless = 16;
// A worker may have to make the problem's data again.
constexpr double kDataFactor = 2;
// The number of launches that verify.
constexpr int kVerifying = 2;

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(1e3 * seconds));
}

// The time of the launches that were asked for, if that of one is known.
double asked_s(const MeasureOptions& options) {
  constexpr double kFactor = 4;
  const TimingPlan& timing = options.timing;
  return 1e-6 * kFactor * options.expected_launch_us * std::max(1, timing.launches_per_sample) *
         (timing.samples + 1);
}

}  // namespace

std::chrono::milliseconds RunTimeLimit::limit(const Problem& problem, double operations,
                                              const MeasureOptions& options) const {
  const double longest_s = std::min(operations / kSlowestRate, kLongest_s);
  const auto first = first_answer_s_.find(problem);
  if (options.timing.stop_above_us <= 0 || first == first_answer_s_.end()) {
    return allowance_ + milliseconds(std::min(longest_s + asked_s(options), kLongest_s));
  }
  const int launches = kVerifying + std::max(1, options.timing.launches_per_sample);
  const double work_s = kDataFactor * first->second +
                        1e-6 * kHopeless * options.timing.stop_above_us * launches +
                        1e-6 * options.timing.min_sample_us * options.timing.samples;
  const auto allowance = worker_is_new_ ? allowance_ : std::min(allowance_, kWarmAllowance);
  return allowance + milliseconds(std::min(work_s, longest_s));
}

void RunTimeLimit::took(const Problem& problem, double seconds) {
  worker_is_new_ = false;
  first_answer_s_.try_emplace(problem, seconds);
}

}  // namespace autotune
