// The workspace of products: products on one stream follow each other, so
// they share it.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <optional>

#include "gpu/workspace.hpp"

namespace autotune {

// Throws UsageError on a stream that is being captured, which loading and allocating would break.
void refuse_capture(const gpu::Driver& driver, CUstream_st* stream);

// Thread-safe.
class StreamWorkspace {
 public:
  explicit StreamWorkspace(const gpu::Driver& driver) : driver_(driver) {}

  // An address in the current context, whose number is `context`; 0 for 0 bytes. nullopt if the
  // last allocation of this size or less failed; `again` allocates in any case. Throws as
  // refuse_capture() does where it would have to allocate, and DriverError.
  [[nodiscard]] std::optional<std::uint64_t> reserve(std::uint64_t context, std::int64_t bytes,
                                                     CUstream_st* stream, bool again);
  // Frees the memory in the current context, `living`. That of other contexts ends with them.
  void free_all(std::uint64_t living);

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  struct Key {
    std::uint64_t context = 0;
    CUstream_st* stream = nullptr;
    std::uint64_t thread = 0;  // where the handle stands for each thread's own stream

    auto operator<=>(const Key&) const = default;
  };
  struct OfStream {
    explicit OfStream(const gpu::Driver& driver) : scratch(driver) {}
    std::mutex mutex;
    gpu::Workspace scratch;
    std::int64_t too_much = kNever;  // bytes: an allocation of this size failed
  };

  OfStream& of(std::uint64_t context, CUstream_st* stream);

  const gpu::Driver& driver_;
  std::mutex mutex_;
  std::map<Key, OfStream> streams_;
};

}  // namespace autotune
