#include "tuner/measure/gpu_workspace.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "cpu/npy_file.hpp"
#include "gpu/kernel_arguments.hpp"
#include "operation/memory_requirement.hpp"
#include "tuner/measure/tensor_data.hpp"

namespace autotune {
namespace {

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

GpuWorkspace::GpuWorkspace(MeasuringKernels& kernels, const gpu::Stream& stream,
                           const MeasureRequest& request)
    : kernels_(kernels),
      stream_(stream),
      data_(request.data),
      input_(request.input),
      seed_(request.seed) {
  for (std::size_t i = 0; i < data_.tensors.size(); ++i) {
    const TensorRole role = data_.tensors[i].role;
    if (is_written(role)) add_output(i);
    if (is_read(role)) add_input(i);
  }
  if (data_.has_tolerances()) {
    compute_expected(request);
  } else {
    compute_references(kernels.of(reference_code(data_)));
  }
}

// Integer types have integers in both sets of data.
void GpuWorkspace::add_input(std::size_t number) {
  const TensorDesc& tensor = data_.tensors[number];
  const gpu::Driver& driver = kernels_.driver();
  const VerificationKernels& fills = kernels_.of(tensor.type);
  const std::int64_t count = tensor.elements();
  const std::uint64_t seed = input_seed(data_, seed_, inputs_.size());
  const double first = inputs_.empty() ? 0 : 1;
  const bool has_own = !data_.contents.empty();
  Input& input = inputs_.emplace_back(
      Input{tensor.name, buffer(driver, tensor.bytes()), buffer(driver, tensor.bytes())});
  if (has_own && data_.has_tolerances()) {
    fill(input.integers, number, second_seed(seed));
  } else {
    fills.fill_integers(input.integers.address(), count, seed, stream_);
  }
  if (has_own) {
    fill(input.reals, number, seed);
  } else if (is_integer(tensor.type)) {
    fills.fill_integers(input.reals.address(), count, seed, stream_);
  } else if (input_ == InputData::linear) {
    fills.fill_linear(input.reals.address(), count, first, 1 - first, stream_);
  } else {
    fills.fill_uniform(input.reals.address(), count, seed, stream_);
  }
  if (data_.has_tolerances()) {
    input.integers_sum = sum_of(input.integers);
    input.reals_sum = sum_of(input.reals);
  }
  if (!is_written(tensor.role)) place(tensor, input.integers.address(), input.reals.address());
}

// The content is made in this machine's memory, so that it is the same on every device.
void GpuWorkspace::fill(const gpu::DeviceBuffer& buffer, std::size_t tensor,
                        std::uint64_t seed) const {
  ThreadPool pool(std::max(1U, std::thread::hardware_concurrency()));
  const ElementBuffer content =
      content_of(data_.contents[tensor], data_.tensors[tensor], seed, pool);
  buffer.copy_from_host(content.data(), buffer.size(), stream_);
  stream_.synchronize();
}

void GpuWorkspace::add_output(std::size_t number) {
  const TensorDesc tensor = with_guard_rows(data_.tensors[number]);
  const gpu::Driver& driver = kernels_.driver();
  const bool with_tolerance = data_.has_tolerances();
  const std::int64_t guard = guard_bytes(tensor);
  Output& output = outputs_.emplace_back(Output{
      tensors_.size(), kernels_.of(tensor.type), buffer(driver, padded_bytes(tensor) + 2 * guard),
      buffer(driver, tensor.bytes()),
      buffer(driver, with_tolerance ? tensor.bytes() : tensor.elements() * kValueBytes),
      with_tolerance ? gpu::DeviceBuffer() : buffer(driver, tensor.elements() * kMagnitudeBytes)});
  if (is_read(tensor.role)) output.data = inputs_.size();
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

void GpuWorkspace::compute_expected(const MeasureRequest& request) {
  if (data_.launched_reference && data_.launched_reference->is_on_host()) {
    return compute_on_host(request);
  }
  if (data_.launched_reference) {
    const MeasuringKernels::Reference& reference = kernels_.of(*data_.launched_reference);
    try {
      launch_reference(reference, DataSet::integers);
      launch_reference(reference, DataSet::reals);
    } catch (const gpu::DriverError& error) {
      if (gpu::is_out_of_memory(error.cuda_result())) throw;
      throw reference_fault(reference.description.name, error.what());
    }
  }
  for (const Output& output : outputs_) {
    const std::size_t number = output.tensor;
    if (data_.contents.empty() || data_.contents[number].expected.empty()) continue;
    const ElementBuffer expected =
        read_elements(data_.contents[number].expected, data_.tensors[number]);
    for (const gpu::DeviceBuffer* buffer : {&output.expected_integers, &output.expected}) {
      buffer->copy_from_host(expected.data(), buffer->size(), stream_);
    }
    stream_.synchronize();
  }
}

// The data in this machine's memory is the same as that on the device.
void GpuWorkspace::compute_on_host(const MeasureRequest& request) const try {
  CpuWorkspace host(kernels_.host_launcher(), request);
  host.compute_expected(&kernels_.on_host(*data_.launched_reference));
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const CpuWorkspace::Output& from = host.outputs()[i];
    const Output& to = outputs_[i];
    to.expected_integers.copy_from_host(from.expected_integers.data(), to.expected_integers.size(),
                                        stream_);
    to.expected.copy_from_host(from.expected.data(), to.expected.size(), stream_);
  }
  stream_.synchronize();
} catch (const std::bad_alloc&) {
  throw reference_fault(data_.launched_reference->title(),
                        "this machine's memory does not hold a copy of the data");
}

void GpuWorkspace::store_results() const {
  for (const Output& output : outputs_) {
    if (data_.contents.empty() || data_.contents[output.tensor].results.empty()) continue;
    const TensorDesc& tensor = data_.tensors[output.tensor];
    const std::int64_t row_bytes = tensor.columns * size_bytes(tensor.type);
    const gpu::DeviceBuffer rows = buffer(kernels_.driver(), tensor.bytes());
    gpu::copy_rows(kernels_.driver(), {rows.address(), row_bytes, tensor.rows * row_bytes},
                   rows_of(output), row_bytes, tensor.rows, tensor.matrices, stream_.handle());
    ElementBuffer elements(tensor.type, tensor.elements());
    rows.copy_to_host(elements.data(), rows.size(), stream_);
    stream_.synchronize();
    write_npy(data_.contents[output.tensor].results, elements);
  }
}

// It runs in the place of the kernels that it judges, so that what it does wrong is found, and finds
// other poison than they, so that what depends on poison differs.
void GpuWorkspace::launch_reference(const MeasuringKernels::Reference& reference, DataSet data) {
  const LaunchedReference& own = reference.description;
  poison(data, Poison::number);
  const LaunchValues launched{
      .tensors = placed(data), .sizes = data_.sizes, .scalars = data_.scalars};
  const ArgumentLayout layout(own.signature);
  gpu::KernelArguments arguments(kernels_.driver(), layout, own.geometry, tensors_, launched);
  reference.kernel.allow_dynamic_shared(own.geometry);
  reference.kernel.launch(own.geometry, arguments.pointers(), stream_);
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    check_launched(own.name, i);
    const Output& output = outputs_[i];
    const TensorDesc& tensor = data_.tensors[output.tensor];
    const std::int64_t row_bytes = tensor.columns * size_bytes(tensor.type);
    const gpu::DeviceBuffer& expected =
        data == DataSet::integers ? output.expected_integers : output.expected;
    gpu::copy_rows(kernels_.driver(), {expected.address(), row_bytes, tensor.rows * row_bytes},
                   rows_of(output), row_bytes, tensor.rows, tensor.matrices, stream_.handle());
  }
  if (const std::string input = changed_input(data); !input.empty()) {
    throw reference_fault(own.name, "it changes the input " + input);
  }
}

void GpuWorkspace::check_launched(const std::string& reference, std::size_t output) const {
  constexpr std::size_t kFindings = VerificationKernels::kFindings;
  const gpu::DeviceBuffer findings =
      buffer(kernels_.driver(), std::int64_t{kFindings * sizeof(Finding)});
  std::vector<Finding> blocks(kFindings);
  check_written(output, findings.address());
  findings.copy_to_host(blocks.data(), findings.size(), stream_);
  stream_.synchronize();
  const Finding all = merged(blocks);
  check_reference(
      reference, data_.tensors[outputs_[output].tensor], all.outside,
      is_inout(output) || !shows_unwritten(tensors_[outputs_[output].tensor].type) ? 0 : all.wrong,
      all.first_wrong);
}

bool GpuWorkspace::serves(const MeasureRequest& request) const {
  return input_ == request.input && seed_ == request.seed && same_results(data_, request.data);
}

void GpuWorkspace::poison(DataSet data, Poison poison) {
  poison_ = static_cast<std::uint32_t>(poison) * 0x10001U;
  for (const Output& output : outputs_) {
    output.memory.fill(poison_, 0, output.memory.size(), stream_);
    if (!output.data) continue;
    const TensorDesc& tensor = tensors_[output.tensor];
    const std::int64_t row_bytes = tensor.columns * size_bytes(tensor.type);
    const Input& before = inputs_[*output.data];
    const gpu::DeviceBuffer& from = data == DataSet::integers ? before.integers : before.reals;
    gpu::copy_rows(kernels_.driver(), rows_of(output),
                   {from.address(), row_bytes, tensor.rows * row_bytes}, row_bytes, tensor.rows,
                   tensor.matrices, stream_.handle());
  }
}

gpu::RowPlace GpuWorkspace::rows_of(const Output& output) const {
  const TensorDesc& tensor = tensors_[output.tensor];
  const std::int64_t bytes = size_bytes(tensor.type);
  return {integers_placed_[output.tensor].address, tensor.columns * bytes,
          tensor.placed_elements() / tensor.matrices * bytes};
}

CheckedArea GpuWorkspace::area_of(const Output& output) const {
  const TensorDesc& tensor = tensors_[output.tensor];
  const std::uint64_t elements = integers_placed_[output.tensor].address;
  return {elements,
          tensor.elements(),
          tensor.matrix_elements(),
          tensor.matrices == 1 ? tensor.matrix_elements() : tensor.matrix_stride,
          output.memory.address(),
          elements + static_cast<std::uint64_t>(padded_bytes(tensor)),
          guard_bytes(tensor) / 4,
          poison_};
}

void GpuWorkspace::check(std::size_t number, DataSet data, double error_bound,
                         std::uint64_t findings) const {
  const Output& output = outputs_[number];
  const CheckedArea area = area_of(output);
  const bool is_first = data == DataSet::integers;
  if (data_.has_tolerances()) {
    kernels_.tolerances_of(tensors_[output.tensor].type)
        .check(area, (is_first ? output.expected_integers : output.expected).address(),
               data_.tolerance(output.tensor), findings, stream_);
  } else if (is_first) {
    output.checks.check_integers(area, output.expected_integers.address(), findings, stream_);
  } else {
    output.checks.check_real(area, output.expected.address(), output.magnitudes.address(),
                             error_bound, findings, stream_);
  }
}

void GpuWorkspace::check_written(std::size_t number, std::uint64_t findings) const {
  const Output& output = outputs_[number];
  kernels_.tolerances_of(tensors_[output.tensor].type)
      .check_written(area_of(output), findings, stream_);
}

std::string GpuWorkspace::element(const gpu::DeviceBuffer& buffer, ElementType type,
                                  std::int64_t offset) const {
  std::array<std::byte, sizeof(double)> bytes{};
  buffer.copy_to_host(bytes.data(), static_cast<std::size_t>(size_bytes(type)), stream_,
                      static_cast<std::size_t>(offset));
  stream_.synchronize();
  return element_text(type, bytes.data());
}

std::string GpuWorkspace::value(std::size_t number, std::int64_t place) const {
  const Output& output = outputs_[number];
  const TensorDesc& tensor = tensors_[output.tensor];
  const std::int64_t of_matrix = tensor.matrix_elements();
  const std::int64_t gap = tensor.placed_elements() / tensor.matrices - of_matrix;
  return element(output.memory, tensor.type,
                 guard_bytes(tensor) + (place + place / of_matrix * gap) * size_bytes(tensor.type));
}

std::string GpuWorkspace::expected(std::size_t number, DataSet data, std::int64_t place) const {
  const Output& output = outputs_[number];
  const ElementType type = tensors_[output.tensor].type;
  return element(data == DataSet::integers ? output.expected_integers : output.expected, type,
                 place * size_bytes(type));
}

std::uint64_t GpuWorkspace::sum_of(const gpu::DeviceBuffer& data) const {
  const gpu::DeviceBuffer device_sum = buffer(kernels_.driver(), sizeof(std::uint64_t));
  std::uint64_t sum = 0;
  device_sum.fill(0, 0, sizeof sum, stream_);
  // The kernel takes pieces of two bytes, whatever the type.
  kernels_.tolerances_of(data_.tensors.front().type)
      .add_up(data.address(), static_cast<std::int64_t>(data.size()), device_sum.address(),
              stream_);
  device_sum.copy_to_host(&sum, sizeof sum, stream_);
  stream_.synchronize();
  return sum;
}

std::string GpuWorkspace::changed_input(DataSet data) const {
  for (const Input& input : inputs_) {
    const bool is_first = data == DataSet::integers;
    if (sum_of(is_first ? input.integers : input.reals) !=
        (is_first ? input.integers_sum : input.reals_sum)) {
      return input.name;
    }
  }
  return "";
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
