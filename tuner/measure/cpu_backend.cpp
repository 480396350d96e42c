#include "tuner/measure/cpu_backend.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>
#include <numeric>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "core/statistics.hpp"
#include "cpu/calibration.hpp"
#include "cpu/device.hpp"
#include "operation/memory_requirement.hpp"
#include "tuner/measure/cpu_check.hpp"

namespace autotune {
namespace {

using Clock = std::chrono::steady_clock;

// Times on this device say little about a GPU, so a kernel that has a sample is not timed for
// longer than this.
constexpr double kEnoughTimeUs = 50e3;

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

// 10000 as "10,000".
std::string with_thousands(std::int64_t number) {
  if (number < 1000) return std::to_string(number);
  return with_thousands(number / 1000) + fmt::format(",{:03}", number % 1000);
}

}  // namespace

void CpuBackend::compile_kernels(const ProblemData& data) {
  if (data.launched_reference) {
    if (!launched_reference_ || launched_reference_->description() != *data.launched_reference) {
      launched_reference_.emplace(compiler_, launcher_, *data.launched_reference);
    }
  }
  if (data.has_tolerances()) return;
  const ReferenceCode code = reference_code(data);
  if (!references_.contains(code)) references_.try_emplace(code, compiler_(), launcher_, code);
}

std::string CpuBackend::provide(const MeasureRequest& request) {
  loaded_.reset();
  const ProblemData& data = request.data;
  std::string too_large = why_too_large(data.text, data.tensors, cpu_device_info());
  if (!too_large.empty()) return too_large;
  if (request.verify) compile_kernels(data);
  try {
    if (!tensors_ || !tensors_->serves(request)) {
      tensors_.reset();  // before the next ones take memory
      tensors_.emplace(launcher_, request);
    }
    if (request.verify && data.has_tolerances()) {
      tensors_->compute_expected(data.launched_reference ? &*launched_reference_ : nullptr);
    }
  } catch (const std::bad_alloc&) {
    return fmt::format("{}: there is not enough memory", data.text);
  }
  loaded_ = std::make_unique<Loaded>(Loaded{request, {}, {}, {}});
  return "";
}

std::string CpuBackend::load(const MeasureRequest& request) {
  if (!request.baseline.empty()) throw Error("the CPU device has no " + request.baseline);
  loaded_->kernel.emplace(launcher_.load(request.cubin, request.kernel_name));
  return "";
}

void CpuBackend::poison(DataSet data, Poison poison) {
  tensors_->poison(data, poison);
}

double CpuBackend::launch(DataSet data) {
  if (loaded_->blocks.empty()) choose_blocks(data);
  const double share = static_cast<double>(loaded_->request.geometry.blocks()) /
                       static_cast<double>(loaded_->blocks.size());
  return share * run_blocks(data);
}

void CpuBackend::choose_blocks(DataSet data) {
  Loaded& run = *loaded_;
  const std::int64_t all = run.request.geometry.blocks();
  if (run.request.data.has_tolerances()) {
    run.blocks.resize(static_cast<std::size_t>(all));
    std::iota(run.blocks.begin(), run.blocks.end(), 0);
    return;
  }
  run.blocks = {0};
  poison(data, Poison::nan);
  run_blocks(data);
  for (const CpuWorkspace::Output& output : tensors_->outputs()) {
    const PoisonedTensor& result = output.result;
    const auto grid = tile_grid(
        result.description(), all,
        [&](std::int64_t row, std::int64_t column) { return result.written(row, column); });
    if (grid) run.grids.push_back(*grid);
  }
  if (run.grids.size() < tensors_->outputs().size()) run.grids.clear();
  run.blocks = sample_blocks(run.request.data.work, all,
                             run.grids.empty() ? std::nullopt : std::optional(run.grids.front()));
  poison(data, Poison::nan);
}

double CpuBackend::run_blocks(DataSet data) {
  const Loaded& run = *loaded_;
  const std::vector<LaunchValues::Tensor> placed = tensors_->placed(data);
  ArgumentPack arguments(ArgumentLayout(run.request.signature),
                         {.tensors = placed,
                          .sizes = run.request.data.sizes,
                          .scalars = run.request.data.scalars,
                          .raster = static_cast<std::uint32_t>(run.request.geometry.raster)});
  const Clock::time_point start = Clock::now();
  const auto fault =
      launcher_.launch(*run.kernel, arguments.pointers(), run.request.geometry, run.blocks);
  if (fault) throw Error(*fault);
  return std::max(microseconds_since(start), 0.1);
}

// The verified launch counts as the first sample if a single launch lasts long enough for one.
Timing CpuBackend::time(const TimingPlan& plan, double estimate_us) {
  Timing timing{.launched = estimate_us == 0};
  Measurement& measurement = timing.measurement;
  const Clock::time_point start = Clock::now();
  if (estimate_us == 0) estimate_us = launch(DataSet::reals);
  int& launches = measurement.launches_per_sample;
  launches = plan.launches_per_sample;
  const double share = static_cast<double>(loaded_->request.geometry.blocks()) /
                       static_cast<double>(loaded_->blocks.size());
  if (launches == 0) {
    launches =
        static_cast<int>(std::clamp(std::ceil(plan.min_sample_us * share / estimate_us), 1.0, 1e6));
  }
  std::vector<double>& samples = measurement.samples_us;
  const auto add_sample = [&](double launch_us) {
    samples.push_back(launch_us);
    measurement.screened_out = plan.stop_above_us > 0 && median(samples) > plan.stop_above_us;
  };
  if (launches == 1) add_sample(estimate_us);
  while (static_cast<int>(samples.size()) < plan.samples && !measurement.screened_out &&
         (samples.empty() || microseconds_since(start) < kEnoughTimeUs)) {
    double total_us = 0;
    for (int i = 0; i < launches; ++i) total_us += launch(DataSet::reals);
    timing.launched = true;
    add_sample(total_us / launches);
  }
  measurement.median_us = median(samples);
  measurement.spread_us = median_absolute_deviation(samples);
  return timing;
}

std::vector<std::vector<Rectangle>> CpuBackend::parts_with_references(DataSet data) {
  std::vector<std::vector<Rectangle>> parts;
  for (const CpuWorkspace::Output& output : tensors_->outputs()) {
    const PoisonedTensor& result = output.result;
    parts.push_back(loaded_->is_sample()
                        ? written_tiles(result, loaded_->grids[parts.size()])
                        : std::vector{Rectangle{0, 0, result.rows(), result.columns()}});
  }
  if (loaded_->request.data.has_tolerances()) return parts;  // provide() has computed all
  tensors_->compute_references(
      references_.at(reference_code(loaded_->request.data)), data,
      loaded_->is_sample() ? parts : std::vector<std::vector<Rectangle>>());
  return parts;
}

CheckOutcome CpuBackend::check(DataSet data, const std::string& when, Finding& finding) {
  const Loaded& run = *loaded_;
  const std::vector<std::vector<Rectangle>> parts = parts_with_references(data);
  std::vector<Finding> findings;
  for (const CpuWorkspace::Output& output : tensors_->outputs()) {
    const std::vector<Rectangle>& written = parts[findings.size()];
    if (run.is_sample() && written.size() < run.blocks.size()) {
      return {TrialStatus::wrong_result,
              fmt::format("{} of {} blocks wrote no result {}", run.blocks.size() - written.size(),
                          run.blocks.size(), when)};
    }
    findings.push_back(compare(output, written, data, run.request.data.error_bound, pool()));
    finding = merged(findings);
    const TensorDesc& tensor = output.result.description();
    CheckOutcome outcome =
        output.tolerance
            ? outcome_of(findings.back(), tensor, when, wrong_output(output, data, findings.back()))
            : outcome_of(findings.back(), tensor, when, parts.size() > 1);
    if (!outcome.ok()) return outcome;
  }
  return {};
}

// The bytes are not looked at, since caches may hold them. The rate is too low if others used the
// machine while it was measured.
double CpuBackend::least_us(const ProblemData& data) {
  constexpr double kMargin = 10;
  if (!multiply_adds_gflops_) multiply_adds_gflops_ = measure_multiply_adds(pool());
  return data.work.operations / (kMargin * *multiply_adds_gflops_) * 1e-3;
}

std::string CpuBackend::note() const {
  if (loaded_->blocks.empty() || !loaded_->is_sample()) return "";
  return fmt::format("{} of {} blocks", loaded_->blocks.size(),
                     with_thousands(loaded_->request.geometry.blocks()));
}

// A kernel with a wrong result may have written to inputs and references too.
void CpuBackend::discard(TrialStatus status) {
  loaded_.reset();
  if (status == TrialStatus::out_of_memory || status == TrialStatus::wrong_result ||
      status == TrialStatus::out_of_bounds) {
    tensors_.reset();
  }
}

}  // namespace autotune
