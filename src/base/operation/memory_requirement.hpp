// The device memory that verifying and timing a problem takes, known before anything is compiled.
#pragma once

#include <cstdint>
#include <string>

#include "autotune/problem.hpp"

#include "core/device_info.hpp"

namespace autotune {

// Words of 4 bytes before C and behind it that a kernel must not touch.
[[nodiscard]] std::int64_t guard_words(const GemmProblem& problem);
[[nodiscard]] double gpu_bytes_needed(const GemmProblem& problem);
[[nodiscard]] double cpu_bytes_needed(const GemmProblem& problem);
// With operands, result, references and guard zones.
[[nodiscard]] double bytes_needed(const GemmProblem& problem, const DeviceInfo& device);

// Why the device, with all of its memory free, could not hold the problem, in one line; empty
// when it could.
[[nodiscard]] std::string why_too_large(const GemmProblem& problem, const DeviceInfo& device);

}  // namespace autotune
