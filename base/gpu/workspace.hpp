// Global memory for blocks that share the work of a result: the `workspace` argument of kernels
// (kernel_templates/kernel_template.hpp).
#pragma once

#include <deque>

#include "gpu/memory.hpp"

namespace autotune::gpu {

// A Workspace serves launches on one stream, one after the other. The same context must be current
// in all calls.
class Workspace {
 public:
  explicit Workspace(const Driver& driver) : driver_(driver) {}

  // Returns whether reserve() would not have to allocate memory.
  [[nodiscard]] bool has(std::int64_t bytes) const;
  // Returns the address of at least `bytes`, whose counters are zero for work that is put on the
  // stream from now on (nullptr: the default stream). Addresses that were returned before stay
  // valid, since a graph may hold them. Throws DriverError.
  std::uint64_t reserve(std::int64_t bytes, CUstream_st* stream);
  // To be called after a failed kernel, which may have left anything in the memory.
  void discard() { buffers_.clear(); }
  // To be called when the context is gone, and the memory with it.
  void leave_to_context();

 private:
  const Driver& driver_;
  std::deque<DeviceBuffer> buffers_;  // the last is the largest
};

}  // namespace autotune::gpu
