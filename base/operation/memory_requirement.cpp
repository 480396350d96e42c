#include "operation/memory_requirement.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace autotune {

std::int64_t guard_bytes(const TensorDesc& output) {
  constexpr std::int64_t kLeast = 256 << 10;
  constexpr std::int64_t kMost = 64 << 20;
  constexpr std::int64_t kAligned = 256;  // cuMemAlloc's addresses are multiples of this
  const std::int64_t bytes =
      std::clamp(2 * output.columns * size_bytes(output.type), kLeast, kMost);
  return (bytes + kAligned - 1) / kAligned * kAligned;
}

TensorDesc with_guard_rows(TensorDesc output) {
  if (output.matrices == 1) return output;
  const std::int64_t vector = 16 / size_bytes(output.type);
  const std::int64_t row = (output.columns + vector - 1) / vector * vector;
  output.matrix_stride = output.matrix_elements() + row;
  return output;
}

double bytes_needed(std::span<const TensorDesc> tensors, const DeviceInfo& device) {
  double bytes = 0;
  for (const TensorDesc& tensor : tensors) {
    const double own = tensor.volume();
    if (is_read(tensor.role)) bytes += 2 * own;
    if (!is_written(tensor.role)) continue;
    const TensorDesc guarded = with_guard_rows(tensor);
    const double guards = static_cast<double>(guarded.matrix_stride - tensor.matrix_stride) *
                          static_cast<double>(tensor.matrices * size_bytes(tensor.type));
    bytes += own + guards;
    // Only GPUs compute the references of whole outputs. On the CPU device memory that no sampled
    // block needs is never touched.
    if (device.is_cpu()) continue;
    const double elements = own / static_cast<double>(size_bytes(tensor.type));
    bytes += own + elements * static_cast<double>(kValueBytes + kMagnitudeBytes);
    bytes += static_cast<double>(2 * guard_bytes(tensor));
  }
  return bytes;
}

std::string why_too_large(const std::string& text, std::span<const TensorDesc> tensors,
                          const DeviceInfo& device) {
  const double needed = bytes_needed(tensors, device);
  const auto available = static_cast<double>(device.memory_bytes);
  if (available == 0 || needed <= available) return "";
  const auto gib = [](double bytes) {
    constexpr double kMany = 1e6;
    const double value = bytes * 0x1p-30;
    return value < kMany ? fmt::format("{:.1f}", value) : fmt::format("{:.2g}", value);
  };
  return fmt::format("{} needs {} GiB of memory to be verified and timed, and {} has {}", text,
                     gib(needed), device.label, gib(available));
}

}  // namespace autotune
