// The progress line of long work, on standard error, and on a terminal only.
#pragma once

#include <chrono>

#include "tuner/tuner.hpp"

namespace autotune {

class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine() { hide(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const TuneProgress& progress);
  // Takes the line away until the next show().
  void hide();

 private:
  bool terminal_;
  bool color_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace autotune
