// Device memory, and host memory that the device can access fast.
#pragma once

#include <cstddef>
#include <cstdint>

#include "autotune/allocator.hpp"

#include "gpu/stream.hpp"

namespace autotune::gpu {

// Move-only. It is allocated in the current context, which must be current again when it is freed.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  // The driver's memory, or that of an allocator, which stays as long as the buffer and gets the
  // stream. Throws Error, whose code() tells whether a lack of memory was the reason; that of the
  // driver is a DriverError.
  DeviceBuffer(const Driver& driver, std::size_t bytes, const Allocator* allocator = nullptr,
               CUstream_st* stream = nullptr);
  DeviceBuffer(DeviceBuffer&& other) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
  ~DeviceBuffer();

  [[nodiscard]] std::uint64_t address() const { return address_; }
  [[nodiscard]] std::size_t size() const { return bytes_; }

  // To be called when the context is gone, and the memory with it.
  void leave_to_context() { address_ = 0; }

  // These are asynchronous on the stream. `offset` and sizes are in bytes; a pattern fills whole
  // words of 4 bytes.
  void fill(std::uint32_t pattern, std::size_t offset, std::size_t bytes,
            const Stream& stream) const;
  void copy_to_host(void* to, std::size_t bytes, const Stream& stream,
                    std::size_t offset = 0) const;
  void copy_from_host(const void* from, std::size_t bytes, const Stream& stream) const;

 private:
  const Driver* driver_ = nullptr;
  const Allocator* allocator_ = nullptr;
  CUstream_st* stream_ = nullptr;
  std::uint64_t address_ = 0;
  std::size_t bytes_ = 0;
};

// Sets a matrix of words to zero, row after row, asynchronously on the stream.
inline constexpr std::int64_t kWordBytes = 4;
void zero_rows(const Driver& driver, std::uint64_t address, std::int64_t row_stride,
               std::int64_t rows, std::int64_t columns, CUstream_st* stream);

// Rows of matrices in device memory.
struct RowPlace {
  std::uint64_t address = 0;
  std::int64_t row_stride = 0;     // bytes
  std::int64_t matrix_stride = 0;  // bytes
};
// Copies rows of row_bytes bytes, asynchronously on the stream.
void copy_rows(const Driver& driver, const RowPlace& to, const RowPlace& from,
               std::int64_t row_bytes, std::int64_t rows, std::int64_t matrices,
               CUstream_st* stream);

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

// Gives lines of the L2 cache that kernels have set aside for their data back to all, where driver
// and device know such lines.
void reset_persisting_lines(const Driver& driver);

struct MemoryInfo {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
};
// The memory of the current context's device.
[[nodiscard]] MemoryInfo memory_info(const Driver& driver);

}  // namespace autotune::gpu
