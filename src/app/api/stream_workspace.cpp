#include "api/stream_workspace.hpp"

#include <atomic>

#include "autotune/error.hpp"

#include "gpu/stream.hpp"

namespace autotune {
namespace {

// The number of the calling thread, from 1 on; no other thread ever has the same.
std::uint64_t thread_number() {
  static std::atomic<std::uint64_t> last = 0;
  thread_local const std::uint64_t own = ++last;
  return own;
}

}  // namespace

void refuse_capture(const gpu::Driver& driver, CUstream_st* stream) {
  if (!gpu::is_capturing(driver, stream)) return;
  throw UsageError(
      "a stream is being captured that gemm() must first load a kernel or allocate memory for: "
      "call prepare() with it before the capture begins");
}

std::optional<std::uint64_t> StreamWorkspace::reserve(std::uint64_t context, std::int64_t bytes,
                                                      CUstream_st* stream, bool again) {
  if (bytes == 0) return 0;
  OfStream& own = of(context, stream);
  const std::lock_guard lock(own.mutex);
  if (!own.scratch.has(bytes)) {
    if (bytes >= own.too_much && !again) return std::nullopt;
    refuse_capture(driver_, stream);
  }
  try {
    const std::uint64_t address = own.scratch.reserve(bytes, stream);
    own.too_much = kNever;
    return address;
  } catch (const gpu::DriverError& error) {
    if (!gpu::is_out_of_memory(error.code())) throw;
    own.too_much = bytes;
    return std::nullopt;
  }
}

void StreamWorkspace::free_all(std::uint64_t living) {
  for (auto& [key, own] : streams_) {
    if (key.context != living) own.scratch.leave_to_context();
  }
  streams_.clear();
}

StreamWorkspace::OfStream& StreamWorkspace::of(std::uint64_t context, CUstream_st* stream) {
  const std::uint64_t thread = gpu::is_per_thread(stream) ? thread_number() : 0;
  const std::lock_guard lock(mutex_);
  return streams_.try_emplace({context, stream, thread}, driver_).first->second;
}

}  // namespace autotune
