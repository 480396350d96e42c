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

double bytes_needed(const Operation& operation, const Problem& problem, const DeviceInfo& device) {
  double bytes = 0;
  for (const TensorDesc& tensor : operation.tensors(problem)) {
    const auto elements = static_cast<double>(tensor.elements());
    const double own = elements * static_cast<double>(size_bytes(tensor.type));
    if (tensor.role == TensorRole::input) {
      bytes += 2 * own;
      continue;
    }
    bytes += own;
    // Only GPUs keep the references of whole outputs.
    if (device.is_cpu()) continue;
    bytes += own + elements * (sizeof(double) + sizeof(float));
    bytes += static_cast<double>(2 * guard_bytes(tensor));
  }
  return bytes;
}

std::string why_too_large(const Operation& operation, const Problem& problem,
                          const DeviceInfo& device) {
  const double needed = bytes_needed(operation, problem, device);
  const auto available = static_cast<double>(device.memory_bytes);
  if (available == 0 || needed <= available) return "";
  return fmt::format("{} needs {:.1f} GiB of memory to be verified and timed, and {} has {:.1f}",
                     operation.text(problem), needed * 0x1p-30, device.label, available * 0x1p-30);
}

}  // namespace autotune
