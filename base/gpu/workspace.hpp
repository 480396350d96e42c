// Global memory for blocks that share the work of a result: the `workspace` argument of kernels
// (kernel_templates/kernel_template.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>

#include "gpu/memory.hpp"

namespace autotune::gpu {

// Sets the counters at the start of a workspace to zero, for work that is put on the stream from
// now on (nullptr: the default stream).
void zero_counters(const Driver& driver, std::uint64_t workspace, CUstream_st* stream);

// A Workspace serves launches on one stream, one after the other. The same context must be current
// in all calls.
class Workspace {
 public:
  static constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

  // All its memory together has at most max_bytes. It comes from the allocator, which stays, or
  // from the driver.
  explicit Workspace(const Driver& driver, std::size_t max_bytes = kNoLimit,
                     const Allocator* allocator = nullptr)
      : driver_(driver), max_bytes_(max_bytes), allocator_(allocator) {}

  // Returns whether reserve() would not have to allocate memory.
  [[nodiscard]] bool has(std::int64_t bytes) const;
  // Returns whether the limit lets reserve() have that much.
  [[nodiscard]] bool may_have(std::int64_t bytes) const;
  // Bytes of all its memory, that of addresses that were returned before included.
  [[nodiscard]] std::size_t size() const;
  // Returns the address of at least `bytes`, whose counters are zero for work that is put on the
  // stream from now on (nullptr: the default stream). Addresses that were returned before stay
  // valid, since a graph may hold them. Only for what it may have. Throws as DeviceBuffer.
  std::uint64_t reserve(std::int64_t bytes, CUstream_st* stream);
  // To be called after a failed kernel, which may have left anything in the memory.
  void discard() { buffers_.clear(); }
  // To be called when the context is gone, and the memory with it.
  void leave_to_context();

 private:
  const Driver& driver_;
  std::size_t max_bytes_;
  const Allocator* allocator_;
  std::deque<DeviceBuffer> buffers_;  // the last is the largest
};

}  // namespace autotune::gpu
