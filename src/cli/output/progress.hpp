// The progress of long work on standard error: on a terminal a line that changes, or plain lines.
#pragma once

#include <chrono>
#include <string>

#include "tuner/run/tuner.hpp"

namespace autotune {

class ProgressLine {
 public:
  // "auto": on a terminal alone; "plain": a line at once, then every 10 s, and when the run
  // first waits for others; "none".
  explicit ProgressLine(const std::string& mode);
  ~ProgressLine() { hide(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const TuneProgress& progress);
  // Takes the line away until the next show().
  void hide();

 private:
  bool plain_;
  bool terminal_;
  bool color_;
  bool shown_ = false;
  bool told_of_wait_ = false;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace autotune
