// The operands of a problem on the device: inputs, results with guard zones, references. All calls
// belong to one thread, with the context current in which the object was made.
#pragma once

#include <cstdint>
#include <list>
#include <string>

#include "autotune/problem.hpp"

#include "gpu/memory.hpp"
#include "tuner/measure/verification_kernels.hpp"
#include "tuner/worker/protocol.hpp"

namespace autotune {

// Addresses on the device, without gaps between rows.
struct DeviceOperands {
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  std::uint64_t c = 0;
};

class GpuWorkspace {
 public:
  // Fills in the data and computes the references, on the stream.
  GpuWorkspace(const gpu::Driver& driver, const VerificationKernels& kernels,
               const gpu::Stream& stream, const GemmProblem& problem, InputData input,
               std::uint64_t seed);

  [[nodiscard]] bool serves(const MeasureRequest& request) const;

  [[nodiscard]] DeviceOperands integers() const;
  [[nodiscard]] DeviceOperands reals() const;

  // Asynchronous on the stream of the constructor. A check writes VerificationKernels::kFindings
  // findings.
  void poison() const;
  void check_integers(std::uint64_t findings) const;
  void check_reals(std::uint64_t findings) const;

 private:
  [[nodiscard]] VerificationKernels::Area area() const;
  void fill(InputData input, std::uint64_t seed) const;
  void compute_references() const;

  const VerificationKernels& kernels_;
  const gpu::Stream& stream_;
  GemmProblem problem_;
  InputData input_;
  std::uint64_t seed_;
  gpu::DeviceBuffer integers_a_, integers_b_, a_, b_;
  gpu::DeviceBuffer c_;             // and the guard zones
  gpu::DeviceBuffer integers_sum_;  // FP32, exact
  gpu::DeviceBuffer sum_;           // FP64
  gpu::DeviceBuffer magnitude_;     // |A||B|, FP32
};

// The workspaces of the problems used last, as many as the device's memory holds.
class WorkspaceCache {
 public:
  WorkspaceCache(const gpu::Driver& driver, const VerificationKernels& kernels,
                 const gpu::Stream& stream)
      : driver_(driver), kernels_(kernels), stream_(stream) {}

  // The workspace for a request; valid until the next call. nullptr when the device cannot hold
  // it: `problem` then says what it needs and what there is.
  GpuWorkspace* find_or_make(const MeasureRequest& request, std::string& problem);
  // Forgets the one that was found last: it may have been written over.
  void discard_last() { used_.pop_front(); }

 private:
  const gpu::Driver& driver_;
  const VerificationKernels& kernels_;
  const gpu::Stream& stream_;
  std::list<GpuWorkspace> used_;  // the last first
};

}  // namespace autotune
