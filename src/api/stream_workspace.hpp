// The workspace of products: products on one stream follow each other, so they share it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "autotune/allocator.hpp"

#include "gpu/driver.hpp"

struct CUstream_st;

namespace autotune {

// Throws UsageError on a stream that is being captured, which loading and allocating would break.
void refuse_capture(const gpu::Driver& driver, CUstream_st* stream);

// Thread-safe. Memory for the per-thread default stream is freed when its thread ends.
class StreamWorkspace {
 public:
  // No stream gets more than max_bytes. The allocator stays as long as this object; nullptr: the
  // memory is the driver's.
  StreamWorkspace(std::shared_ptr<const gpu::Driver> driver, std::size_t max_bytes,
                  const Allocator* allocator);
  ~StreamWorkspace();
  StreamWorkspace(const StreamWorkspace&) = delete;
  StreamWorkspace& operator=(const StreamWorkspace&) = delete;

  // The answer of reserve() without an allocation; nothing where it would have to allocate, or
  // would wait for a call that does.
  struct Found {
    std::optional<std::uint64_t> address;
    // The last allocation of this size or less failed, or the limit is below it.
    bool is_short = false;
  };
  [[nodiscard]] Found find(std::uint64_t context, std::int64_t bytes, CUstream_st* stream);

  // An address in the current context, whose number is `context`; 0 for 0 bytes. nullopt beyond
  // the limit, and if the last allocation of this size or less failed; `again` allocates even then.
  // Throws as refuse_capture() does where it would have to allocate, and what the driver or the
  // allocator reports. Outside of captures it locks nothing where one of the thread's last calls
  // was for the same stream.
  [[nodiscard]] std::optional<std::uint64_t> reserve(std::uint64_t context, std::int64_t bytes,
                                                     CUstream_st* stream, bool again);
  // Frees the memory of a stream in the current context.
  void release(std::uint64_t context, CUstream_st* stream);
  // Frees the memory of streams in the current context, that of the stream with the most first,
  // until no more than keep_bytes are left. Those that keep theirs may ask for more again.
  void trim(std::uint64_t context, std::size_t keep_bytes);
  // Frees the memory in the current context.
  void free_all(std::uint64_t context);

 private:
  class Streams;
  std::shared_ptr<Streams> streams_;  // also known to the ends of threads
};

}  // namespace autotune
