// The tensors of a problem on the device: inputs, outputs between guard zones, references. All
// calls must come from one thread, with the context current in which the object was made.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "gpu/memory.hpp"
#include "operation/problem_data.hpp"
#include "tuner/measure/measurer.hpp"
#include "tuner/measure/measuring_kernels.hpp"

namespace autotune {

class GpuWorkspace {
 public:
  // Fills in the data and computes the references, on the stream.
  GpuWorkspace(MeasuringKernels& kernels, const gpu::Stream& stream, const MeasureRequest& request);

  // Problems with the same results share a workspace.
  [[nodiscard]] bool serves(const MeasureRequest& request) const;

  // The tensors as they are placed, outputs with guard rows.
  [[nodiscard]] const std::vector<TensorDesc>& tensors() const { return tensors_; }
  [[nodiscard]] std::size_t outputs() const { return outputs_.size(); }
  [[nodiscard]] const TensorDesc& output(std::size_t number) const {
    return tensors_[outputs_[number].tensor];
  }
  // The tensors' addresses and row strides for launches on this data, in the order of the tensors.
  [[nodiscard]] const std::vector<LaunchValues::Tensor>& placed(DataSet data) const {
    return data == DataSet::integers ? integers_placed_ : reals_placed_;
  }

  // Both are asynchronous on the stream of the constructor. A check of an output writes
  // VerificationKernels::kFindings findings; that of unwritten elements calls them wrong.
  void poison(DataSet data, Poison poison = Poison::nan);
  void check(std::size_t output, DataSet data, double error_bound, std::uint64_t findings) const;
  void check_written(std::size_t output, std::uint64_t findings) const;

  // These wait for the stream. They are for results with tolerances.
  [[nodiscard]] bool is_inout(std::size_t output) const {
    return outputs_[output].data.has_value();
  }
  [[nodiscard]] std::string value(std::size_t output, std::int64_t element) const;
  [[nodiscard]] std::string expected(std::size_t output, DataSet data, std::int64_t element) const;
  // Writes each output to the file that its content names, if it does. Throws EnvironmentError.
  void store_results() const;
  // Returns the name of an input that is not as it was filled.
  [[nodiscard]] std::string changed_input(DataSet data) const;

 private:
  struct Input {
    std::string name;
    gpu::DeviceBuffer integers, reals;
    std::uint64_t integers_sum = 0, reals_sum = 0;  // if there are tolerances
  };
  struct Output {
    std::size_t tensor;  // its place among all
    const VerificationKernels& checks;
    gpu::DeviceBuffer memory;              // with the guard zones
    gpu::DeviceBuffer expected_integers;   // in its type
    gpu::DeviceBuffer expected;            // FP64; in its type if there is a tolerance
    gpu::DeviceBuffer magnitudes;          // FP32; none if there is a tolerance
    std::optional<std::size_t> data = {};  // of an inout: the place among the inputs
  };

  void add_input(std::size_t tensor);
  void add_output(std::size_t tensor);
  void place(const TensorDesc& tensor, std::uint64_t integers, std::uint64_t reals);
  void fill(const gpu::DeviceBuffer& buffer, std::size_t tensor, std::uint64_t seed) const;
  void compute_references(const ReferenceKernels& kernels) const;
  void compute_expected(const MeasureRequest& request);
  void compute_on_host(const MeasureRequest& request) const;
  void launch_reference(const MeasuringKernels::Reference& reference, DataSet data);
  void check_launched(const std::string& reference, std::size_t output) const;
  [[nodiscard]] CheckedArea area_of(const Output& output) const;
  [[nodiscard]] gpu::RowPlace rows_of(const Output& output) const;
  [[nodiscard]] std::uint64_t sum_of(const gpu::DeviceBuffer& buffer) const;
  [[nodiscard]] std::string element(const gpu::DeviceBuffer& buffer, ElementType type,
                                    std::int64_t offset) const;

  MeasuringKernels& kernels_;
  const gpu::Stream& stream_;
  ProblemData data_;
  InputData input_;
  std::uint64_t seed_;
  std::vector<TensorDesc> tensors_;
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
  std::vector<LaunchValues::Tensor> integers_placed_, reals_placed_;
  std::uint32_t poison_ = 0;  // the word that was filled in last
};

// The workspaces of the problems that were used last, as many as the device's memory holds.
class WorkspaceCache {
 public:
  WorkspaceCache(MeasuringKernels& kernels, const gpu::Stream& stream, const DeviceInfo& device)
      : kernels_(kernels), stream_(stream), device_(device) {}

  // Returns the workspace for a request, which is valid until the next call. Returns nullptr when
  // the device cannot hold it; `problem` then has the needed and the available memory.
  GpuWorkspace* find_or_make(const MeasureRequest& request, std::string& problem);
  // Forgets the workspace that was returned last, since a kernel may have overwritten its data.
  void discard_last() { used_.pop_front(); }

 private:
  MeasuringKernels& kernels_;
  const gpu::Stream& stream_;
  const DeviceInfo& device_;
  std::list<GpuWorkspace> used_;  // the last used one first
};

}  // namespace autotune
