#include "tuner/devices/trial_runner.hpp"

#include <utility>

#include <fmt/format.h>

#include "autotune/error.hpp"

namespace autotune {
namespace {

using Clock = std::chrono::steady_clock;

// Candidates may kill workers one after another. After this many failures without an answer between
// them, the device is unusable.
constexpr int kFailuresInARow = 20;

constexpr int kAttempts = 3;

// Programs that share a GPU take turns of about 2 ms. A sample may last twice as long as is asked
// for here, and one that is longer than a turn would include the turn of another program.
constexpr double kSharedSampleUs = 500;

[[noreturn]] void fail_to_measure(const WorkerFailure& failure) {
  throw EnvironmentError(
      fmt::format("nothing could be measured on the device: {}", failure.reason));
}

}  // namespace

bool was_cut_short(const Trial& trial, const MeasureOptions& options) {
  return trial.status == TrialStatus::run_timeout && options.end && Clock::now() >= *options.end;
}

TrialRunner::TrialRunner(const WorkerFactory& make_worker, std::chrono::milliseconds allowance,
                         double share)
    : worker_(make_worker()), share_(share), allowance_(allowance), time_limit_(allowance) {}

Trial TrialRunner::run(const KernelTemplate& kernel, const Configuration& configuration,
                       const Problem& problem, const BuiltKernel& built,
                       const MeasureOptions& options) {
  Trial trial{.problem = problem,
              .template_name = kernel.name,
              .configuration = configuration,
              .status = built.status,
              .detail = built.detail,
              .resources = built.resources};
  if (!trial.ok()) return trial;
  MeasureRequest request;
  request.kernel_name = kernel.name;
  request.cubin = built.image;
  request.signature = kernel.signature(problem);
  request.geometry = kernel.geometry(configuration, problem);
  const LaunchGeometry geometry = request.geometry;
  if (options.once_per_code && code_cache_.reuse(trial, built.code, geometry)) return trial;
  trial = measure(*kernel.operation, std::move(request), options, std::move(trial));
  if (options.once_per_code) code_cache_.keep(trial, built.code, geometry);
  return trial;
}

Trial TrialRunner::run_baseline(const std::string& name, int algorithm, const Operation& operation,
                                const Problem& problem, const MeasureOptions& options) {
  MeasureRequest request;
  request.baseline = name;
  request.algorithm = algorithm;
  return measure(operation, std::move(request), options,
                 {.problem = problem, .template_name = name});
}

CalibrateReply TrialRunner::calibrate() {
  // No candidate is involved. A worker that another process killed is replaced; a worker that dies
  // of the machine's state dies again. A device that does not answer is not asked again, since that
  // could take a multiple of the budget.
  for (int attempt = 1;; ++attempt) {
    WorkerOutcome outcome = call(CalibrateRequest{}, allowance_);
    const auto* failure = std::get_if<WorkerFailure>(&outcome);
    if (failure == nullptr) {
      return std::get<CalibrateReply>(std::get<WorkerReply>(std::move(outcome)));
    }
    if (attempt == kAttempts || failure->kind == WorkerFailure::Kind::timed_out) {
      fail_to_measure(*failure);
    }
  }
}

Trial TrialRunner::measure(const Operation& operation, MeasureRequest request,
                           const MeasureOptions& options, Trial trial) {
  request.problem = trial.problem;
  request.data = problem_data(operation, trial.problem, options.input);
  request.verify = options.verify;
  request.timing = options.timing;
  request.input = options.input;
  request.share = share_;
  if (share_ < 1) request.timing.min_sample_us = kSharedSampleUs;

  const double busy_before_s = busy_s_;
  const auto timeout = std::chrono::ceil<std::chrono::milliseconds>(
      time_limit_.limit(trial.problem, request.data.work.operations, options) / share_);
  WorkerOutcome outcome = call(request, CallLimit(timeout, options.end));
  if (auto* failure = std::get_if<WorkerFailure>(&outcome)) {
    const bool timed_out = failure->kind == WorkerFailure::Kind::timed_out;
    trial.status = timed_out ? TrialStatus::run_timeout : TrialStatus::run_crashed;
    trial.detail = std::move(failure->reason);
    return trial;
  }
  auto reply = std::get<MeasureReply>(std::get<WorkerReply>(std::move(outcome)));
  time_limit_.took(trial.problem, share_ * (busy_s_ - busy_before_s));
  if (reply.poisoned) {
    ++failures_;
    time_limit_.lost_worker();
  }
  trial.status = reply.status;
  trial.detail = std::move(reply.detail);
  trial.measurement = std::move(reply.measurement);
  trial.verification = reply.verification;
  return trial;
}

// A worker that cannot serve says nothing about the request, so others are asked.
WorkerOutcome TrialRunner::call(const WorkerRequest& request, CallLimit limit) {
  for (int attempt = 1;; ++attempt) {
    WorkerOutcome outcome = call_once(request, limit);
    const auto* failure = std::get_if<WorkerFailure>(&outcome);
    if (failure == nullptr || failure->kind != WorkerFailure::Kind::no_service) return outcome;
    if (attempt == kAttempts) fail_to_measure(*failure);
  }
}

WorkerOutcome TrialRunner::call_once(const WorkerRequest& request, CallLimit limit) {
  if (!stuck_.empty()) {
    throw EnvironmentError(fmt::format(
        "a measuring worker is stuck in the device's driver, which is of no use until the device "
        "is reset or the machine started again: {}",
        stuck_));
  }
  const Clock::time_point start = Clock::now();
  WorkerOutcome outcome = worker_->call(request, limit);
  busy_s_ += std::chrono::duration<double>(Clock::now() - start).count();

  const auto* failure = std::get_if<WorkerFailure>(&outcome);
  if (failure == nullptr) {
    failures_in_a_row_ = 0;
    return outcome;
  }
  ++failures_;
  time_limit_.lost_worker();
  if (failure->left_running) stuck_ = failure->reason;
  if (++failures_in_a_row_ == kFailuresInARow) {
    throw EnvironmentError(fmt::format("the measuring worker failed {} times in a row, last: {}",
                                       kFailuresInARow, failure->reason));
  }
  return outcome;
}

}  // namespace autotune
