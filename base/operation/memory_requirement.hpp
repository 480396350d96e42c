// The memory that is needed to verify and time a problem, computed before anything is compiled.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/device_info.hpp"
#include "operation/operation.hpp"

namespace autotune {

// The size of each of the two zones, before the output and after it, that a kernel must not touch:
// two rows of the output, at least 256 KiB and at most 64 MiB, rounded up to a multiple of 256
// bytes.
[[nodiscard]] std::int64_t guard_bytes(const TensorDesc& output);

// The output as it is measured: behind each matrix of a batch there is a row that a kernel must not
// touch, rounded up to a multiple of 16 bytes.
[[nodiscard]] TensorDesc with_guard_rows(TensorDesc output);

// The reference of an element, whatever the output's type: its value in FP64, and the magnitude
// that rounding errors are relative to (Operation::reference_source).
inline constexpr std::int64_t kValueBytes = 8;
inline constexpr std::int64_t kMagnitudeBytes = 4;

// The bytes that a problem with these tensors needs on the device: two sets of inputs and of the
// inouts' data before a launch, each output between its guard zones, and the references.
[[nodiscard]] double bytes_needed(std::span<const TensorDesc> tensors, const DeviceInfo& device);

// Returns in one line why the device could not hold a problem, whose name for people is `text`,
// even with all of its memory free; empty if it could.
[[nodiscard]] std::string why_too_large(const std::string& text,
                                        std::span<const TensorDesc> tensors,
                                        const DeviceInfo& device);
[[nodiscard]] inline std::string why_too_large(const Operation& operation, const Problem& problem,
                                               const DeviceInfo& device) {
  return why_too_large(operation.text(problem), operation.tensors(problem), device);
}

}  // namespace autotune
