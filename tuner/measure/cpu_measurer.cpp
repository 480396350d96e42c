#include "tuner/measure/cpu_measurer.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "core/statistics.hpp"
#include "cpu/device.hpp"
#include "operation/memory_requirement.hpp"
#include "tuner/measure/cpu_check.hpp"

namespace autotune {
namespace {

using Clock = std::chrono::steady_clock;

// Speed here says little about a GPU, so a kernel is timed no longer than this once it has a
// sample.
constexpr double kEnoughTimeUs = 50e3;

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

MeasureReply failed(TrialStatus status, std::string detail) {
  MeasureReply reply;
  reply.status = status;
  reply.detail = std::move(detail);
  return reply;
}

// 10000 as "10,000".
std::string with_thousands(std::int64_t number) {
  if (number < 1000) return std::to_string(number);
  return with_thousands(number / 1000) + fmt::format(",{:03}", number % 1000);
}

}  // namespace

// One request on its way.
struct CpuMeasurer::Run {
  const MeasureRequest& request;
  Operands& operands;
  CpuKernel kernel;
  std::optional<TileGrid> grid;  // of the result, when only some blocks are run
  std::vector<std::int64_t> blocks = {0};

  [[nodiscard]] bool is_sample() const {
    return static_cast<std::int64_t>(blocks.size()) < request.geometry.blocks();
  }
};

MeasureReply CpuMeasurer::measure(const MeasureRequest& request) {
  if (!request.baseline.empty()) {
    return failed(TrialStatus::launch_failed, "the host device has no " + request.baseline);
  }
  const std::string too_large =
      fmt::format("{} needs {:.1f} GiB of memory", to_string(request.problem),
                  cpu_bytes_needed(request.problem) * 0x1p-30);
  const auto memory = static_cast<double>(cpu_device_info().memory_bytes);
  if (cpu_bytes_needed(request.problem) > memory)
    return failed(TrialStatus::out_of_memory, too_large);
  std::optional<CpuKernel> kernel;
  try {
    kernel = launcher_.load(request.cubin, request.kernel_name);
  } catch (const Error& error) {
    return failed(TrialStatus::load_failed, error.what());
  }
  try {
    Run run{request, operands_for(request), std::move(*kernel)};
    return measure(run);
  } catch (const std::bad_alloc&) {
    operands_.reset();
    return failed(TrialStatus::out_of_memory, too_large);
  }
}

MeasureReply CpuMeasurer::measure(Run& run) {
  MeasureReply reply;
  Verification& verification = reply.verification;
  const bool verify = run.request.verify;
  CheckOutcome outcome = choose_blocks(run);
  if (outcome.ok() && verify) {
    run.operands.c.poison(pool());
    outcome = launch(run, true);
    if (outcome.ok()) outcome = check(run, true, "on integers", verification);
    run.operands.c.poison(pool());
  }
  if (outcome.ok()) outcome = time(run, reply.measurement);
  if (outcome.ok() && verify) outcome = check(run, false, "on random data", verification);
  reply.status = outcome.status;
  reply.detail = std::move(outcome.detail);
  if (outcome.ok() && run.is_sample()) {
    reply.detail = fmt::format("{} of {} blocks", run.blocks.size(),
                               with_thousands(run.request.geometry.blocks()));
  }
  return reply;
}

CpuMeasurer::Operands& CpuMeasurer::operands_for(const MeasureRequest& request) {
  const GemmProblem& problem = request.problem;
  if (operands_ && operands_->problem == problem && operands_->input == request.input &&
      operands_->seed == request.seed) {
    return *operands_;
  }
  operands_.reset();
  const std::int64_t count_a = problem.m * problem.k;
  const std::int64_t count_b = problem.k * problem.n;
  const std::uint64_t seed_a = 2 * request.seed;
  const std::uint64_t seed_b = seed_a + 1;
  const bool rising = request.input == InputData::linear;
  operands_.emplace(
      Operands{problem, request.input, request.seed, random_integers(count_a, seed_a, pool()),
               random_integers(count_b, seed_b, pool()),
               rising ? linear(count_a, 0, 1, pool()) : random_uniform(count_a, seed_a, pool()),
               rising ? linear(count_b, 1, 0, pool()) : random_uniform(count_b, seed_b, pool()),
               PoisonedMatrix(problem.m, problem.n)});
  return *operands_;
}

// Runs block 0 alone to see how the launch divides the result.
CheckOutcome CpuMeasurer::choose_blocks(Run& run) {
  run.operands.c.poison(pool());
  CheckOutcome outcome = launch(run, true);
  const std::int64_t all = run.request.geometry.blocks();
  if (outcome.ok()) {
    run.grid = tile_grid(run.operands.c, all);
    run.blocks = sample_blocks(run.request.problem, all, run.grid);
  }
  return outcome;
}

CheckOutcome CpuMeasurer::launch(Run& run, bool on_integers) {
  const GemmProblem& p = run.request.problem;
  Operands& o = run.operands;
  const KernelArguments arguments{.a = on_integers ? o.integers_a.data() : o.a.data(),
                                  .b = on_integers ? o.integers_b.data() : o.b.data(),
                                  .c = o.c.data(),
                                  .m = p.m,
                                  .n = p.n,
                                  .k = p.k,
                                  .lda = p.lda(),
                                  .ldb = p.ldb(),
                                  .ldc = p.ldc(),
                                  .alpha = 1,
                                  .beta = 0};
  try {
    const auto fault = launcher_.launch(run.kernel, arguments, run.request.geometry, run.blocks);
    if (fault) return {TrialStatus::launch_failed, *fault};
    return {};
  } catch (const Error& error) {
    return {TrialStatus::launch_failed, error.what()};
  }
}

// Launches once, which is a sample if it lasts long enough, and then as often as the request asks
// for. From a sample of blocks the time of all is inferred.
CheckOutcome CpuMeasurer::time(Run& run, Measurement& measurement) {
  const MeasureRequest& request = run.request;
  const double share =
      static_cast<double>(request.geometry.blocks()) / static_cast<double>(run.blocks.size());
  const Clock::time_point start = Clock::now();
  CheckOutcome outcome = launch(run, false);
  const double first_us = std::max(microseconds_since(start), 0.1);
  int& launches = measurement.launches_per_sample;
  launches = request.launches_per_sample;
  if (launches == 0) {
    launches = static_cast<int>(std::clamp(std::ceil(request.min_sample_us / first_us), 1.0, 1e6));
  }
  std::vector<double>& samples = measurement.samples_us;
  const auto add_sample = [&](double launch_us) {
    samples.push_back(launch_us * share);
    measurement.screened_out = request.stop_above_us > 0 && samples.back() > request.stop_above_us;
  };
  if (outcome.ok() && launches == 1 && request.samples > 0) add_sample(first_us);
  while (outcome.ok() && static_cast<int>(samples.size()) < request.samples &&
         !measurement.screened_out &&
         (samples.empty() || microseconds_since(start) < kEnoughTimeUs)) {
    const Clock::time_point sample_start = Clock::now();
    for (int i = 0; i < launches && outcome.ok(); ++i) outcome = launch(run, false);
    add_sample(microseconds_since(sample_start) / launches);
  }
  if (samples.empty()) return outcome;
  measurement.median_us = median(samples);
  measurement.spread_us = median_absolute_deviation(samples);
  return outcome;
}

CheckOutcome CpuMeasurer::check(const Run& run, bool on_integers, const std::string& when,
                                Verification& verification) {
  const GemmProblem& problem = run.request.problem;
  const Operands& o = run.operands;
  std::vector<Rectangle> parts = {{0, 0, problem.m, problem.n}};
  if (run.is_sample()) {
    parts = written_tiles(o.c, problem, *run.grid);
    if (parts.size() < run.blocks.size()) {
      return {TrialStatus::wrong_result,
              fmt::format("{} of {} blocks wrote no result {}", run.blocks.size() - parts.size(),
                          run.blocks.size(), when)};
    }
  }
  const OperandView a = view_of_a(problem, on_integers ? o.integers_a.data() : o.a.data());
  const OperandView b = view_of_b(problem, on_integers ? o.integers_b.data() : o.b.data());
  const double bound = error_bound(problem.k, run.request.input);
  const Finding finding =
      compare(problem, a, b, o.c, parts, on_integers ? Expectation::exact : Expectation::bounded,
              bound, launcher_.pool());
  CheckOutcome outcome = outcome_of(finding, problem, when);
  if (on_integers) {
    verification.integers_exact = outcome.ok();
  } else {
    verification.max_error_ratio = finding.max_error_ratio;
    verification.error_bound = bound;
    verification.frobenius_error = frobenius_error(finding);
  }
  return outcome;
}

}  // namespace autotune
