#include "tuner/compile/time_limit.hpp"

#include <algorithm>
#include <cstdint>

#include "core/statistics.hpp"

namespace autotune {
namespace {

// A busy machine may delay a compiler that was fast so far.
constexpr std::chrono::seconds kLeastCompile(10);
constexpr double kCompileFactor = 10;
constexpr std::size_t kCompilesNeeded = 5;
constexpr std::size_t kCompilesKept = 101;

}  // namespace

std::chrono::milliseconds CompileTimeLimit::limit() const {
  if (seen_s_.size() < kCompilesNeeded) return most_;
  const auto usual =
      std::chrono::milliseconds(static_cast<std::int64_t>(1e3 * kCompileFactor * median(seen_s_)));
  return std::min(most_, std::max<std::chrono::milliseconds>(kLeastCompile, usual));
}

void CompileTimeLimit::took(double seconds) {
  if (seen_s_.size() < kCompilesKept) {
    seen_s_.push_back(seconds);
  } else {
    seen_s_[next_] = seconds;
    next_ = (next_ + 1) % kCompilesKept;
  }
}

}  // namespace autotune
