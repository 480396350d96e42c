// Memory of the device, and of the host where the device reads and writes it fast.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/stream.hpp"

namespace autotune::gpu {

// Move-only. Allocated in the current context, which is to be current again when it is freed.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  // Throws DriverError; is_out_of_memory() tells whether that was it.
  DeviceBuffer(const Driver& driver, std::size_t bytes);
  DeviceBuffer(DeviceBuffer&& other) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
  ~DeviceBuffer();

  [[nodiscard]] std::uint64_t address() const { return address_; }
  [[nodiscard]] std::size_t size() const { return bytes_; }

  // The context is gone, and the memory with it.
  void leave_to_context() { address_ = 0; }

  // Asynchronous on the stream. `offset` and sizes in bytes; patterns fill whole words of 4 bytes.
  void fill(std::uint32_t pattern, std::size_t offset, std::size_t bytes,
            const Stream& stream) const;
  void copy_to_host(void* to, std::size_t bytes, const Stream& stream) const;
  void copy_from_host(const void* from, std::size_t bytes, const Stream& stream) const;

 private:
  const Driver* driver_ = nullptr;
  std::uint64_t address_ = 0;
  std::size_t bytes_ = 0;
};

// Page-locked host memory.
class PinnedBuffer {
 public:
  PinnedBuffer(const Driver& driver, std::size_t bytes);
  ~PinnedBuffer();
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;

  [[nodiscard]] void* data() const { return data_; }

 private:
  const Driver& driver_;
  void* data_ = nullptr;
};

struct MemoryInfo {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
};
// The memory of the current context's device.
[[nodiscard]] MemoryInfo memory_info(const Driver& driver);

}  // namespace autotune::gpu
