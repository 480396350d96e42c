#include "gpu/memory.hpp"

#include <algorithm>
#include <exception>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include "autotune/error.hpp"

#include "gpu/driver_api.hpp"

namespace autotune::gpu {
namespace {

void release_by(const Allocator& allocator, void* address, CUstream_st* stream) noexcept try {
  allocator.release(address, stream);
} catch (...) {
  // The application's fault.
}

std::uint64_t allocate_by(const Allocator& allocator, std::size_t bytes, CUstream_st* stream) {
  constexpr std::uintptr_t kAlignment = 256;
  void* address = nullptr;
  try {
    address = allocator.allocate(bytes, stream);
  } catch (const std::bad_alloc&) {
    // It has no memory.
  } catch (const std::exception& error) {
    throw EnvironmentError(std::string("the allocator failed: ") + error.what());
  } catch (...) {
    throw EnvironmentError("the allocator failed with a foreign exception");
  }
  if (address == nullptr) {
    throw Error("the allocator has no " + std::to_string(bytes) + " bytes", ErrorCode::no_memory);
  }
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  if (number % kAlignment == 0) return number;
  release_by(allocator, address, stream);
  throw EnvironmentError("the allocator gave an address that is not a multiple of 256 bytes");
}

}  // namespace

DeviceBuffer::DeviceBuffer(const Driver& driver, std::size_t bytes, const Allocator* allocator,
                           CUstream_st* stream)
    : driver_(&driver), allocator_(allocator), stream_(stream), bytes_(bytes) {
  if (allocator != nullptr) {
    address_ = allocate_by(*allocator, bytes, stream);
    return;
  }
  CUdeviceptr address = 0;
  driver.check(driver.api().cuMemAlloc(&address, bytes), "cuMemAlloc");
  address_ = address;
}

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : driver_(other.driver_),
      allocator_(other.allocator_),
      stream_(other.stream_),
      address_(std::exchange(other.address_, 0)),
      bytes_(std::exchange(other.bytes_, 0)) {}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(allocator_, other.allocator_);
  std::swap(stream_, other.stream_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

DeviceBuffer::~DeviceBuffer() try {
  if (address_ == 0) return;
  const RelaxedCapture others_may_capture(*driver_);
  if (allocator_ == nullptr) {
    driver_->api().cuMemFree(address_);
  } else {
    release_by(*allocator_, reinterpret_cast<void*>(address_), stream_);
  }
} catch (const DriverError&) {
  // Then nothing can be freed.
}

void DeviceBuffer::fill(std::uint32_t pattern, std::size_t offset, std::size_t bytes,
                        const Stream& stream) const {
  driver_->check(
      driver_->api().cuMemsetD32Async(address_ + offset, pattern, bytes / 4, stream.handle()),
      "cuMemsetD32Async");
}

void DeviceBuffer::copy_to_host(void* to, std::size_t bytes, const Stream& stream,
                                std::size_t offset) const {
  driver_->check(driver_->api().cuMemcpyDtoHAsync(to, address_ + offset, bytes, stream.handle()),
                 "cuMemcpyDtoHAsync");
}

void DeviceBuffer::copy_from_host(const void* from, std::size_t bytes, const Stream& stream) const {
  driver_->check(driver_->api().cuMemcpyHtoDAsync(address_, from, bytes, stream.handle()),
                 "cuMemcpyHtoDAsync");
}

void zero_rows(const Driver& driver, std::uint64_t address, std::int64_t row_stride,
               std::int64_t rows, std::int64_t columns, CUstream_st* stream) {
  const auto size = [](std::int64_t value) { return static_cast<std::size_t>(value); };
  driver.check(driver.api().cuMemsetD2D32Async(address, size(kWordBytes * row_stride), 0,
                                               size(columns), size(rows), stream),
               "cuMemsetD2D32Async");
}

void copy_rows(const Driver& driver, const RowPlace& to, const RowPlace& from,
               std::int64_t row_bytes, std::int64_t rows, std::int64_t matrices,
               CUstream_st* stream) {
  constexpr std::int64_t kMostPitch = std::numeric_limits<std::int32_t>::max();
  const auto copy = [&](std::int64_t matrix, std::int64_t row, std::int64_t count) {
    const auto address = [&](const RowPlace& place) {
      return place.address +
             static_cast<std::uint64_t>(matrix * place.matrix_stride + row * place.row_stride);
    };
    CUDA_MEMCPY2D rectangle{};
    rectangle.srcMemoryType = rectangle.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    rectangle.srcDevice = address(from);
    rectangle.dstDevice = address(to);
    rectangle.srcPitch = static_cast<std::size_t>(from.row_stride);
    rectangle.dstPitch = static_cast<std::size_t>(to.row_stride);
    rectangle.WidthInBytes = static_cast<std::size_t>(row_bytes);
    rectangle.Height = static_cast<std::size_t>(count);
    driver.check(count == 1
                     ? driver.api().cuMemcpyDtoDAsync(rectangle.dstDevice, rectangle.srcDevice,
                                                      rectangle.WidthInBytes, stream)
                     : driver.api().cuMemcpy2DAsync(&rectangle, stream),
                 "cuMemcpy2DAsync");
  };
  const auto is_even = [&](const RowPlace& place) {
    return matrices == 1 || place.matrix_stride == rows * place.row_stride;
  };
  if (is_even(to) && is_even(from)) {
    rows *= matrices;
    matrices = 1;
  }
  if (to.row_stride == row_bytes && from.row_stride == row_bytes) {
    row_bytes *= rows;
    rows = 1;
  }
  // Rows that are further apart than a rectangle can have them are copied one by one.
  const bool is_near = std::max(to.row_stride, from.row_stride) <= kMostPitch;
  const std::int64_t at_once = is_near ? rows : 1;
  for (std::int64_t matrix = 0; matrix < matrices; ++matrix) {
    for (std::int64_t row = 0; row < rows; row += at_once) copy(matrix, row, at_once);
  }
}

PinnedBuffer::PinnedBuffer(const Driver& driver, std::size_t bytes) : driver_(driver) {
  driver.check(driver.api().cuMemHostAlloc(&data_, bytes, 0), "cuMemHostAlloc");
}

PinnedBuffer::~PinnedBuffer() {
  driver_.api().cuMemFreeHost(data_);
}

void reset_persisting_lines(const Driver& driver) {
  if (driver.api().cuCtxResetPersistingL2Cache != nullptr) {
    driver.api().cuCtxResetPersistingL2Cache();
  }
}

MemoryInfo memory_info(const Driver& driver) {
  MemoryInfo info;
  driver.check(driver.api().cuMemGetInfo(&info.free_bytes, &info.total_bytes), "cuMemGetInfo");
  return info;
}

}  // namespace autotune::gpu
