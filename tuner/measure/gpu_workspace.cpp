#include "tuner/measure/gpu_workspace.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "operation/memory_requirement.hpp"

namespace autotune {
namespace {

// When it is repeated, this word is a quiet NaN in every element type, and one that no arithmetic
// gives.
constexpr std::uint32_t kPoison = 0x7ff87ff8;

// This much memory is left for the code and local memory of kernels, and for baselines.
constexpr double kReservedBytes = 512.0 * (1 << 20);

gpu::DeviceBuffer buffer(const gpu::Driver& driver, std::int64_t bytes) {
  return {driver, static_cast<std::size_t>(bytes)};
}

// The guard zone behind the output begins at a word.
std::int64_t padded_bytes(const TensorDesc& output) {
  return (output.placed_elements() * size_bytes(output.type) + 3) / 4 * 4;
}

std::vector<LaunchValues::Tensor> place(const std::vector<TensorDesc>& tensors,
                                        const std::vector<gpu::DeviceBuffer>& inputs,
                                        std::uint64_t output) {
  std::vector<LaunchValues::Tensor> result;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    result.push_back({inputs[i].address(), tensors[i].row_stride, tensors[i].matrix_stride});
  }
  result.push_back({output, tensors.back().row_stride, tensors.back().matrix_stride});
  return result;
}

}  // namespace

const VerificationKernels& MeasuringKernels::of(ElementType type) {
  return of_types_.try_emplace(type, driver_, nvrtc_, target_, type).first->second;
}

const ReferenceKernels& MeasuringKernels::of(const Operation& operation,
                                             std::span<const TensorDesc> tensors) {
  const std::string key =
      fmt::format("{} {}", operation.name, fmt::join(element_macros(tensors), " "));
  return references_.try_emplace(key, driver_, nvrtc_, target_, operation, tensors).first->second;
}

GpuWorkspace::GpuWorkspace(MeasuringKernels& kernels, const gpu::Stream& stream,
                           const Operation& operation, const MeasureRequest& request)
    : stream_(stream),
      problem_(request.problem),
      input_(request.input),
      seed_(request.seed),
      tensors_(operation.tensors(request.problem)),
      checks_(kernels.of(tensors_.back().type)) {
  const gpu::Driver& driver = kernels.driver();
  tensors_.back() = with_guard_rows(tensors_.back());
  const TensorDesc& output = tensors_.back();
  const std::int64_t guard = guard_bytes(output);
  for (std::size_t i = 0; i + 1 < tensors_.size(); ++i) {
    integers_.push_back(buffer(driver, tensors_[i].bytes()));
    reals_.push_back(buffer(driver, tensors_[i].bytes()));
  }
  output_ = buffer(driver, padded_bytes(output) + 2 * guard);
  expected_integers_ = buffer(driver, output.bytes());
  expected_ = buffer(driver, output.elements() * std::int64_t{sizeof(double)});
  magnitudes_ = buffer(driver, output.elements() * 4);
  const std::uint64_t address = output_.address() + static_cast<std::uint64_t>(guard);
  integers_placed_ = place(tensors_, integers_, address);
  reals_placed_ = place(tensors_, reals_, address);

  fill(kernels);
  const ReferenceKernels& reference = kernels.of(operation, tensors_);
  reference.integers(problem_, inputs(DataSet::integers), expected_integers_.address(), stream_);
  reference.reals(problem_, inputs(DataSet::reals), expected_.address(), magnitudes_.address(),
                  stream_);
}

bool GpuWorkspace::serves(const Operation& operation, const MeasureRequest& request) const {
  if (input_ != request.input || seed_ != request.seed) return false;
  if (problem_ == request.problem) return true;
  return problem_.operation() == request.problem.operation() &&
         operation.tensors(problem_) == operation.tensors(request.problem) &&
         operation.reference_numbers(problem_) == operation.reference_numbers(request.problem);
}

void GpuWorkspace::fill(MeasuringKernels& kernels) {
  for (std::size_t i = 0; i < integers_.size(); ++i) {
    const VerificationKernels& fills = kernels.of(tensors_[i].type);
    const std::int64_t count = tensors_[i].elements();
    const std::uint64_t seed = integers_.size() * seed_ + i;
    fills.fill_integers(integers_[i].address(), count, seed, stream_);
    if (input_ == InputData::linear) {
      const double first = i == 0 ? 0 : 1;
      fills.fill_linear(reals_[i].address(), count, first, 1 - first, stream_);
    } else {
      fills.fill_uniform(reals_[i].address(), count, seed, stream_);
    }
  }
}

std::vector<std::uint64_t> GpuWorkspace::inputs(DataSet data) const {
  std::vector<std::uint64_t> addresses;
  for (const gpu::DeviceBuffer& input : data == DataSet::integers ? integers_ : reals_) {
    addresses.push_back(input.address());
  }
  return addresses;
}

void GpuWorkspace::poison() const {
  output_.fill(kPoison, 0, output_.size(), stream_);
}

void GpuWorkspace::check(DataSet data, double error_bound, std::uint64_t findings) const {
  const TensorDesc& output = tensors_.back();
  const std::uint64_t elements = integers_placed_.back().address;
  const VerificationKernels::Area area{
      elements,
      output.elements(),
      output.matrix_elements(),
      output.matrices == 1 ? output.matrix_elements() : output.matrix_stride,
      output_.address(),
      elements + static_cast<std::uint64_t>(padded_bytes(output)),
      guard_bytes(output) / 4,
      kPoison};
  if (data == DataSet::integers) {
    checks_.check_integers(area, expected_integers_.address(), findings, stream_);
  } else {
    checks_.check_real(area, expected_.address(), magnitudes_.address(), error_bound, findings,
                       stream_);
  }
}

GpuWorkspace* WorkspaceCache::find_or_make(const Operation& operation,
                                           const MeasureRequest& request, std::string& problem) {
  const auto found = std::find_if(used_.begin(), used_.end(), [&](const GpuWorkspace& workspace) {
    return workspace.serves(operation, request);
  });
  if (found != used_.end()) {
    used_.splice(used_.begin(), used_, found);
    return &used_.front();
  }
  const double need = bytes_needed(operation, request.problem, device_);
  const auto free = [&] {
    return static_cast<double>(gpu::memory_info(kernels_.driver()).free_bytes);
  };
  while (!used_.empty() && free() < need + kReservedBytes) used_.pop_back();
  if (free() >= need + kReservedBytes) {
    try {
      used_.emplace_front(kernels_, stream_, operation, request);
      stream_.synchronize();  // a fault here is not the candidate's
      return &used_.front();
    } catch (const gpu::DriverError& error) {
      if (!gpu::is_out_of_memory(error.cuda_result())) throw;
    }
  }
  problem = fmt::format(
      "{} needs {:.1f} GiB of the device's memory and {:.1f} GiB to spare; {:.1f} GiB are free",
      operation.text(request.problem), need * 0x1p-30, kReservedBytes * 0x1p-30, free() * 0x1p-30);
  return nullptr;
}

}  // namespace autotune
