// The memory that verifying and timing a problem takes, known before anything is compiled.
#pragma once

#include <cstdint>
#include <string>

#include "core/device_info.hpp"
#include "operation/operation.hpp"

namespace autotune {

// Bytes before the output and behind it that a kernel must not touch: two of its rows, at
// least 256 KiB and at most 64 MiB; a multiple of 256.
[[nodiscard]] std::int64_t guard_bytes(const TensorDesc& output);

// The bytes that a problem needs on the device: two sets of inputs, the output between its guard
// zones, and the references.
[[nodiscard]] double bytes_needed(const Operation& operation, const Problem& problem,
                                  const DeviceInfo& device);

// Returns in one line why the device, with all of its memory free, could not hold the problem;
// empty when it could.
[[nodiscard]] std::string why_too_large(const Operation& operation, const Problem& problem,
                                        const DeviceInfo& device);

}  // namespace autotune
