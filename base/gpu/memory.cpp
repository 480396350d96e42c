#include "gpu/memory.hpp"

#include <utility>

#include "gpu/driver_api.hpp"

namespace autotune::gpu {

DeviceBuffer::DeviceBuffer(const Driver& driver, std::size_t bytes)
    : driver_(&driver), bytes_(bytes) {
  CUdeviceptr address = 0;
  driver.check(driver.api().cuMemAlloc(&address, bytes), "cuMemAlloc");
  address_ = address;
}

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : driver_(other.driver_),
      address_(std::exchange(other.address_, 0)),
      bytes_(std::exchange(other.bytes_, 0)) {}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

DeviceBuffer::~DeviceBuffer() {
  if (address_ != 0) driver_->api().cuMemFree(address_);
}

void DeviceBuffer::fill(std::uint32_t pattern, std::size_t offset, std::size_t bytes,
                        const Stream& stream) const {
  driver_->check(
      driver_->api().cuMemsetD32Async(address_ + offset, pattern, bytes / 4, stream.handle()),
      "cuMemsetD32Async");
}

void DeviceBuffer::copy_to_host(void* to, std::size_t bytes, const Stream& stream) const {
  driver_->check(driver_->api().cuMemcpyDtoHAsync(to, address_, bytes, stream.handle()),
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

PinnedBuffer::PinnedBuffer(const Driver& driver, std::size_t bytes) : driver_(driver) {
  driver.check(driver.api().cuMemHostAlloc(&data_, bytes, 0), "cuMemHostAlloc");
}

PinnedBuffer::~PinnedBuffer() {
  driver_.api().cuMemFreeHost(data_);
}

MemoryInfo memory_info(const Driver& driver) {
  MemoryInfo info;
  driver.check(driver.api().cuMemGetInfo(&info.free_bytes, &info.total_bytes), "cuMemGetInfo");
  return info;
}

}  // namespace autotune::gpu
