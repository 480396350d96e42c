// The time after which a compile worker counts as hung.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

namespace autotune {

// The limit of a compilation is ten times the median of the latest ones, and at least ten seconds.
class CompileTimeLimit {
 public:
  explicit CompileTimeLimit(std::chrono::milliseconds most) : most_(most) {}

  [[nodiscard]] std::chrono::milliseconds limit() const;
  void took(double seconds);

 private:
  std::chrono::milliseconds most_;
  std::vector<double> seen_s_;  // the latest compilations
  std::size_t next_ = 0;        // the oldest entry, which the next compilation replaces
};

}  // namespace autotune
