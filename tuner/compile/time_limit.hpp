// How long a compile worker may take before it is taken for hung.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

namespace autotune {

// Of a compilation: ten times what those before took, as long as that is some seconds.
class CompileTimeLimit {
 public:
  explicit CompileTimeLimit(std::chrono::milliseconds most) : most_(most) {}

  [[nodiscard]] std::chrono::milliseconds limit() const;
  void took(double seconds);

 private:
  std::chrono::milliseconds most_;
  std::vector<double> seen_s_;  // the latest
  std::size_t next_ = 0;        // where the next replaces the oldest
};

}  // namespace autotune
