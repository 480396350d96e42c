#include "tuner/measure/gpu_workspace.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "operation/memory_requirement.hpp"

namespace autotune {
namespace {

// When it is repeated, this word is a quiet NaN in every type of real numbers, and one that no
// arithmetic gives. As an i32 it is 2146992120, which results of small integers do not reach.
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

}  // namespace

const VerificationKernels& MeasuringKernels::of(ElementType type) {
  return of_types_.try_emplace(type, driver_, nvrtc_, target_, type).first->second;
}

const ReferenceKernels& MeasuringKernels::of(const ReferenceCode& code) {
  return references_.try_emplace(code, driver_, nvrtc_, target_, code).first->second;
}

GpuWorkspace::GpuWorkspace(MeasuringKernels& kernels, const gpu::Stream& stream,
                           const MeasureRequest& request)
    : stream_(stream), data_(request.data), input_(request.input), seed_(request.seed) {
  const auto inputs = std::ranges::count_if(
      data_.tensors, [](const TensorDesc& tensor) { return tensor.role == TensorRole::input; });
  for (const TensorDesc& tensor : data_.tensors) {
    const VerificationKernels& own = kernels.of(tensor.type);
    if (tensor.role == TensorRole::input) {
      add_input(kernels.driver(), own, tensor,
                static_cast<std::uint64_t>(inputs) * seed_ + inputs_.size());
    } else {
      add_output(kernels.driver(), own, with_guard_rows(tensor));
    }
  }
  compute_references(kernels.of(reference_code(data_)));
}

// Integer types have integers in both sets of data.
void GpuWorkspace::add_input(const gpu::Driver& driver, const VerificationKernels& fills,
                             const TensorDesc& tensor, std::uint64_t seed) {
  const std::int64_t count = tensor.elements();
  const double first = inputs_.empty() ? 0 : 1;
  const Input& input =
      inputs_.emplace_back(Input{buffer(driver, tensor.bytes()), buffer(driver, tensor.bytes())});
  fills.fill_integers(input.integers.address(), count, seed, stream_);
  if (is_integer(tensor.type)) {
    fills.fill_integers(input.reals.address(), count, seed, stream_);
  } else if (input_ == InputData::linear) {
    fills.fill_linear(input.reals.address(), count, first, 1 - first, stream_);
  } else {
    fills.fill_uniform(input.reals.address(), count, seed, stream_);
  }
  place(tensor, input.integers.address(), input.reals.address());
}

void GpuWorkspace::add_output(const gpu::Driver& driver, const VerificationKernels& checks,
                              const TensorDesc& tensor) {
  const std::int64_t guard = guard_bytes(tensor);
  const Output& output = outputs_.emplace_back(
      Output{tensors_.size(), checks, buffer(driver, padded_bytes(tensor) + 2 * guard),
             buffer(driver, tensor.bytes()), buffer(driver, tensor.elements() * kValueBytes),
             buffer(driver, tensor.elements() * kMagnitudeBytes)});
  const std::uint64_t elements = output.memory.address() + static_cast<std::uint64_t>(guard);
  place(tensor, elements, elements);
}

void GpuWorkspace::place(const TensorDesc& tensor, std::uint64_t integers, std::uint64_t reals) {
  tensors_.push_back(tensor);
  integers_placed_.push_back({integers, tensor.row_stride, tensor.matrix_stride});
  reals_placed_.push_back({reals, tensor.row_stride, tensor.matrix_stride});
}

void GpuWorkspace::compute_references(const ReferenceKernels& kernels) const {
  std::vector<std::uint64_t> integers, reals, expected_integers, expected;
  for (const Input& input : inputs_) {
    integers.push_back(input.integers.address());
    reals.push_back(input.reals.address());
  }
  for (const Output& output : outputs_) {
    expected_integers.push_back(output.expected_integers.address());
    expected.push_back(output.expected.address());
    expected.push_back(output.magnitudes.address());
  }
  kernels.integers(data_.reference, integers, expected_integers, stream_);
  kernels.reals(data_.reference, reals, expected, stream_);
}

bool GpuWorkspace::serves(const MeasureRequest& request) const {
  return input_ == request.input && seed_ == request.seed && same_results(data_, request.data);
}

void GpuWorkspace::poison() const {
  for (const Output& output : outputs_) {
    output.memory.fill(kPoison, 0, output.memory.size(), stream_);
  }
}

void GpuWorkspace::check(std::size_t number, DataSet data, double error_bound,
                         std::uint64_t findings) const {
  const Output& output = outputs_[number];
  const TensorDesc& tensor = tensors_[output.tensor];
  const std::uint64_t elements = integers_placed_[output.tensor].address;
  const VerificationKernels::Area area{
      elements,
      tensor.elements(),
      tensor.matrix_elements(),
      tensor.matrices == 1 ? tensor.matrix_elements() : tensor.matrix_stride,
      output.memory.address(),
      elements + static_cast<std::uint64_t>(padded_bytes(tensor)),
      guard_bytes(tensor) / 4,
      kPoison};
  if (data == DataSet::integers) {
    output.checks.check_integers(area, output.expected_integers.address(), findings, stream_);
  } else {
    output.checks.check_real(area, output.expected.address(), output.magnitudes.address(),
                             error_bound, findings, stream_);
  }
}

GpuWorkspace* WorkspaceCache::find_or_make(const MeasureRequest& request, std::string& problem) {
  const auto found = std::ranges::find_if(
      used_, [&](const GpuWorkspace& workspace) { return workspace.serves(request); });
  if (found != used_.end()) {
    used_.splice(used_.begin(), used_, found);
    return &used_.front();
  }
  const double need = bytes_needed(request.data.tensors, device_);
  const auto free = [&] {
    return static_cast<double>(gpu::memory_info(kernels_.driver()).free_bytes);
  };
  while (!used_.empty() && free() < need + kReservedBytes) used_.pop_back();
  if (free() >= need + kReservedBytes) {
    try {
      used_.emplace_front(kernels_, stream_, request);
      stream_.synchronize();  // a fault here is not the candidate's
      return &used_.front();
    } catch (const gpu::DriverError& error) {
      if (!gpu::is_out_of_memory(error.cuda_result())) throw;
    }
  }
  problem = fmt::format(
      "{} needs {:.1f} GiB of the device's memory and {:.1f} GiB to spare; {:.1f} GiB are free",
      request.data.text, need * 0x1p-30, kReservedBytes * 0x1p-30, free() * 0x1p-30);
  return nullptr;
}

}  // namespace autotune
