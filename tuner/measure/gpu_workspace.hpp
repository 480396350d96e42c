// The tensors of a problem on the device: inputs, the output between guard zones, references. All
// calls must come from one thread, with the context current in which the object was made.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gpu/memory.hpp"
#include "operation/operation.hpp"
#include "tuner/measure/measurer.hpp"
#include "tuner/measure/verification_kernels.hpp"

namespace autotune {

// The kernels of verification, each compiled when it is first needed.
class MeasuringKernels {
 public:
  MeasuringKernels(const gpu::Driver& driver, const gpu::Nvrtc& nvrtc, std::string target)
      : driver_(driver), nvrtc_(nvrtc), target_(std::move(target)) {}

  [[nodiscard]] const gpu::Driver& driver() const { return driver_; }
  const VerificationKernels& of(ElementType type);
  // Operations outlive this object.
  const ReferenceKernels& of(const Operation& operation, std::span<const TensorDesc> tensors);

 private:
  const gpu::Driver& driver_;
  const gpu::Nvrtc& nvrtc_;
  std::string target_;
  std::map<ElementType, VerificationKernels> of_types_;
  std::map<std::string, ReferenceKernels> references_;  // by operation and macros
};

class GpuWorkspace {
 public:
  // Fills in the data and computes the references, on the stream.
  GpuWorkspace(MeasuringKernels& kernels, const gpu::Stream& stream, const Operation& operation,
               const MeasureRequest& request);

  // Problems with the same tensors and reference share a workspace: one product by any arithmetic.
  [[nodiscard]] bool serves(const Operation& operation, const MeasureRequest& request) const;

  [[nodiscard]] const std::vector<TensorDesc>& tensors() const { return tensors_; }
  // The tensors' addresses and row strides for launches on this data, in the order of the tensors.
  [[nodiscard]] const std::vector<LaunchValues::Tensor>& placed(DataSet data) const {
    return data == DataSet::integers ? integers_placed_ : reals_placed_;
  }

  // Both are asynchronous on the stream of the constructor. A check writes
  // VerificationKernels::kFindings findings.
  void poison() const;
  void check(DataSet data, double error_bound, std::uint64_t findings) const;

 private:
  void fill(MeasuringKernels& kernels);
  [[nodiscard]] std::vector<std::uint64_t> inputs(DataSet data) const;

  const gpu::Stream& stream_;
  Problem problem_;
  InputData input_;
  std::uint64_t seed_;
  std::vector<TensorDesc> tensors_;  // the last is the output
  const VerificationKernels& checks_;
  std::vector<gpu::DeviceBuffer> integers_, reals_;  // one for each input
  gpu::DeviceBuffer output_;                         // with the guard zones
  gpu::DeviceBuffer expected_integers_;              // in the output's type
  gpu::DeviceBuffer expected_;                       // FP64
  gpu::DeviceBuffer magnitudes_;                     // FP32
  std::vector<LaunchValues::Tensor> integers_placed_, reals_placed_;
};

// The workspaces of the problems that were used last, as many as the device's memory holds.
class WorkspaceCache {
 public:
  WorkspaceCache(MeasuringKernels& kernels, const gpu::Stream& stream, const DeviceInfo& device)
      : kernels_(kernels), stream_(stream), device_(device) {}

  // Returns the workspace for a request, which is valid until the next call. Returns nullptr when
  // the device cannot hold it; `problem` then has the needed and the available memory.
  GpuWorkspace* find_or_make(const Operation& operation, const MeasureRequest& request,
                             std::string& problem);
  // Forgets the workspace that was returned last, since a kernel may have overwritten its data.
  void discard_last() { used_.pop_front(); }

 private:
  MeasuringKernels& kernels_;
  const gpu::Stream& stream_;
  const DeviceInfo& device_;
  std::list<GpuWorkspace> used_;  // the last used one first
};

}  // namespace autotune
