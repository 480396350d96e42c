#include "operation/memory_requirement.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace autotune {

// Words before C and behind it: two rows, but 256 KiB at least and 64 MiB at most.
std::int64_t guard_words(const GemmProblem& problem) {
  constexpr std::int64_t kLeast = (256 << 10) / 4;
  constexpr std::int64_t kMost = (64 << 20) / 4;
  constexpr std::int64_t kAligned = 64;  // C begins at a multiple of 256 bytes, as cuMemAlloc's do
  const std::int64_t words = std::clamp(2 * problem.n, kLeast, kMost);
  return (words + kAligned - 1) / kAligned * kAligned;
}

double gpu_bytes_needed(const GemmProblem& problem) {
  const auto m = static_cast<double>(problem.m);
  const auto n = static_cast<double>(problem.n);
  const auto k = static_cast<double>(problem.k);
  const auto guards = static_cast<double>(2 * guard_words(problem));
  return sizeof(float) * (2 * (m * k + k * n) + 3 * m * n + guards) + sizeof(double) * m * n;
}

double cpu_bytes_needed(const GemmProblem& problem) {
  const auto m = static_cast<double>(problem.m);
  const auto n = static_cast<double>(problem.n);
  const auto k = static_cast<double>(problem.k);
  return sizeof(float) * (2 * m * k + 2 * k * n + m * n);
}

double bytes_needed(const GemmProblem& problem, const DeviceInfo& device) {
  return device.is_cpu() ? cpu_bytes_needed(problem) : gpu_bytes_needed(problem);
}

std::string why_too_large(const GemmProblem& problem, const DeviceInfo& device) {
  const double needed = bytes_needed(problem, device);
  const auto available = static_cast<double>(device.memory_bytes);
  if (available == 0 || needed <= available) return "";
  return fmt::format("{} needs {:.1f} GiB of memory to be verified and timed, and {} has {:.1f}",
                     to_string(problem), needed * 0x1p-30, device.label, available * 0x1p-30);
}

}  // namespace autotune
