// How long workers may take before they are taken for hung. The limits follow what was seen: a
// candidate that is hopelessly slow is stopped long before the longest time that any may take.
#pragma once

#include <chrono>
#include <map>

#include "core/problem.hpp"

namespace autotune {

struct MeasureOptions;

// Of a run: an allowance, and beside it the time for the problem's data and for launches that take
// twenty times what the best known one does. Without a best one, what a kernel may take at most.
class RunTimeLimit {
 public:
  // `allowance`: of a worker that has yet to open its device.
  explicit RunTimeLimit(std::chrono::milliseconds allowance) : allowance_(allowance) {}

  [[nodiscard]] std::chrono::milliseconds limit(const Problem& problem, double operations,
                                                const MeasureOptions& options) const;
  // The worker answered, or is no more and the next call starts another.
  void took(const Problem& problem, double seconds);
  void lost_worker() { worker_is_new_ = true; }

 private:
  std::chrono::milliseconds allowance_;
  bool worker_is_new_ = true;
  std::map<Problem, double> first_answer_s_;  // with the making of data and references
};

}  // namespace autotune
