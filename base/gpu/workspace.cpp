#include "gpu/workspace.hpp"

#include <algorithm>

#include "core/launch_geometry.hpp"
#include "gpu/driver_api.hpp"

namespace autotune::gpu {

void zero_counters(const Driver& driver, std::uint64_t workspace, CUstream_st* stream) {
  driver.check(driver.api().cuMemsetD32Async(workspace, 0, kWorkspaceCounters, stream),
               "cuMemsetD32Async");
}

bool Workspace::has(std::int64_t bytes) const {
  return bytes == 0 ||
         (!buffers_.empty() && buffers_.back().size() >= static_cast<std::size_t>(bytes));
}

bool Workspace::may_have(std::int64_t bytes) const {
  return has(bytes) || static_cast<std::size_t>(bytes) <= max_bytes_ - size();
}

std::size_t Workspace::size() const {
  std::size_t bytes = 0;
  for (const DeviceBuffer& buffer : buffers_) bytes += buffer.size();
  return bytes;
}

std::uint64_t Workspace::reserve(std::int64_t bytes, CUstream_st* stream) {
  if (bytes == 0) return 0;
  if (!has(bytes)) {
    // The memory is at least doubled, up to a size at which doubling would waste too much of it.
    constexpr std::size_t kLarge = std::size_t{256} << 20;
    const std::size_t twice = buffers_.empty() ? 0 : 2 * buffers_.back().size();
    DeviceBuffer larger(
        driver_,
        std::max(static_cast<std::size_t>(bytes), std::min({twice, kLarge, max_bytes_ - size()})),
        allocator_, stream);
    zero_counters(driver_, larger.address(), stream);
    buffers_.push_back(std::move(larger));
  }
  return buffers_.back().address();
}

void Workspace::leave_to_context() {
  for (DeviceBuffer& buffer : buffers_) buffer.leave_to_context();
}

}  // namespace autotune::gpu
