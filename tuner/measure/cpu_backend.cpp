#include "tuner/measure/cpu_backend.hpp"

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

std::string CpuBackend::provide(const Operation& operation, const MeasureRequest& request) {
  loaded_.reset();
  std::string too_large = why_too_large(operation, request.problem, cpu_device_info());
  if (!too_large.empty()) return too_large;
  const bool is_there = tensors_ && tensors_->problem == request.problem &&
                        tensors_->input == request.input && tensors_->seed == request.seed;
  try {
    if (!is_there) make_tensors(operation, request);
  } catch (const std::bad_alloc&) {
    tensors_.reset();
    return fmt::format("{}: there is not enough memory", operation.text(request.problem));
  }
  loaded_ = std::make_unique<Loaded>(Loaded{operation, request, {}, {}, {}});
  return "";
}

void CpuBackend::make_tensors(const Operation& operation, const MeasureRequest& request) {
  tensors_.reset();
  std::vector<TensorDesc> descriptions = operation.tensors(request.problem);
  descriptions.back() = with_guard_rows(descriptions.back());
  Tensors made{.problem = request.problem,
               .input = request.input,
               .seed = request.seed,
               .descriptions = {},
               .integers = {},
               .reals = {},
               .output = PoisonedTensor(descriptions.back())};
  const std::size_t count = descriptions.size() - 1;
  for (std::size_t i = 0; i < count; ++i) {
    const ElementType type = descriptions[i].type;
    const std::int64_t elements = descriptions[i].elements();
    const std::uint64_t seed = count * request.seed + i;
    made.integers.push_back(random_integers(type, elements, seed, pool()));
    const double first = i == 0 ? 0 : 1;
    made.reals.push_back(request.input == InputData::linear
                             ? linear(type, elements, first, 1 - first, pool())
                             : random_uniform(type, elements, seed, pool()));
  }
  made.descriptions = std::move(descriptions);
  tensors_.emplace(std::move(made));
}

std::string CpuBackend::load(const MeasureRequest& request) {
  if (!request.baseline.empty()) throw Error("the CPU device has no " + request.baseline);
  loaded_->kernel.emplace(launcher_.load(request.cubin, request.kernel_name));
  return "";
}

void CpuBackend::poison() {
  tensors_->output.poison(pool());
}

double CpuBackend::launch(DataSet data) {
  if (loaded_->blocks.empty()) choose_blocks(data);
  const double share = static_cast<double>(loaded_->request.geometry.blocks()) /
                       static_cast<double>(loaded_->blocks.size());
  return share * run_blocks(data);
}

void CpuBackend::choose_blocks(DataSet data) {
  Loaded& run = *loaded_;
  run.blocks = {0};
  poison();
  run_blocks(data);
  const std::int64_t all = run.request.geometry.blocks();
  run.grid = tile_grid(tensors_->output, all);
  run.blocks = sample_blocks(run.operation.work(run.request.problem), all, run.grid);
  poison();
}

double CpuBackend::run_blocks(DataSet data) {
  const Loaded& run = *loaded_;
  std::vector<LaunchValues::Tensor> placed;
  for (const void* input : inputs(data)) {
    const TensorDesc& tensor = tensors_->descriptions[placed.size()];
    placed.push_back(
        {reinterpret_cast<std::uint64_t>(input), tensor.row_stride, tensor.matrix_stride});
  }
  const TensorDesc& output = tensors_->descriptions.back();
  placed.push_back({reinterpret_cast<std::uint64_t>(tensors_->output.data()), output.row_stride,
                    output.matrix_stride});
  std::vector<std::int64_t> sizes;
  for (const Problem::Size& size : run.request.problem.sizes()) sizes.push_back(size.value);
  ArgumentPack arguments(ArgumentLayout(run.request.signature),
                         {.tensors = placed,
                          .sizes = sizes,
                          .scalars = run.operation.scalars,
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

CheckOutcome CpuBackend::check(DataSet data, double error_bound, const std::string& when,
                               Finding& finding) {
  const Loaded& run = *loaded_;
  const PoisonedTensor& output = tensors_->output;
  std::vector<Rectangle> parts = {{0, 0, output.rows(), output.columns()}};
  if (run.is_sample()) {
    parts = written_tiles(output, *run.grid);
    if (parts.size() < run.blocks.size()) {
      return {TrialStatus::wrong_result,
              fmt::format("{} of {} blocks wrote no result {}", run.blocks.size() - parts.size(),
                          run.blocks.size(), when)};
    }
  }
  finding = compare(run.operation, run.request.problem, inputs(data), output, parts, data,
                    error_bound, pool());
  return outcome_of(finding, tensors_->descriptions.back(), when);
}

std::string CpuBackend::note() const {
  if (loaded_->blocks.empty() || !loaded_->is_sample()) return "";
  return fmt::format("{} of {} blocks", loaded_->blocks.size(),
                     with_thousands(loaded_->request.geometry.blocks()));
}

void CpuBackend::discard(TrialStatus status) {
  loaded_.reset();
  if (status == TrialStatus::out_of_memory) tensors_.reset();
}

std::vector<const void*> CpuBackend::inputs(DataSet data) const {
  std::vector<const void*> addresses;
  for (const ElementBuffer& input :
       data == DataSet::integers ? tensors_->integers : tensors_->reals) {
    addresses.push_back(input.data());
  }
  return addresses;
}

}  // namespace autotune
