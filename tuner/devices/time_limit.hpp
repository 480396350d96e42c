// The time after which a measuring worker counts as hung. The limit follows earlier runs, so
// that a hopelessly slow candidate is stopped long before the longest time that any may take.
#pragma once

#include <chrono>
#include <map>

#include "core/problem.hpp"

namespace autotune {

struct MeasureOptions;

// The limit of a run is the sum of an allowance, the time for the problem's data, and launches of
// twenty times the best known time. Without a best time it is the allowance and the longest time
// that a kernel may take.
class RunTimeLimit {
 public:
  // `allowance` is for a worker that has yet to open its device.
  explicit RunTimeLimit(std::chrono::milliseconds allowance) : allowance_(allowance) {}

  [[nodiscard]] std::chrono::milliseconds limit(const Problem& problem, double operations,
                                                const MeasureOptions& options) const;
  // To be called when the worker has answered, or when it has ended and the next call starts
  // another.
  void took(const Problem& problem, double seconds);
  void lost_worker() { worker_is_new_ = true; }

 private:
  std::chrono::milliseconds allowance_;
  bool worker_is_new_ = true;
  std::map<Problem, double> first_answer_s_;  // includes making data and references
};

}  // namespace autotune
