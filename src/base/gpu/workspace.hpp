// Global memory for blocks that share the work of a result: the workspace argument of kernels
// (kernel_templates/kernel_template.hpp).
#pragma once

#include <deque>

#include "gpu/memory.hpp"

namespace autotune::gpu {

// For launches on one stream, one after the other, in the context that is current in all calls.
class Workspace {
 public:
  explicit Workspace(const Driver& driver) : driver_(driver) {}

  // Returns whether reserve() can do without allocating.
  [[nodiscard]] bool has(std::int64_t bytes) const;
  // The address of `bytes` at least, whose counters are zero for what is put on the stream from now
  // on (nullptr: the default stream). An address given before stays good: a graph may hold it.
  // Throws DriverError.
  std::uint64_t reserve(std::int64_t bytes, CUstream_st* stream);
  // To be called after a failed kernel, which may have left anything in the memory.
  void discard() { buffers_.clear(); }
  // The context is gone, and the memory with it.
  void leave_to_context();

 private:
  const Driver& driver_;
  std::deque<DeviceBuffer> buffers_;  // the last is the largest
};

}  // namespace autotune::gpu
