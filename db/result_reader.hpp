// The reads that a choice among stored results is made from.
#pragma once

#include <functional>
#include <vector>

#include "core/problem.hpp"
#include "core/winner.hpp"
#include "db/result_filter.hpp"

namespace autotune {

// TuningDatabase says what the functions return.
class ResultReader {
 public:
  virtual ~ResultReader() = default;

  [[nodiscard]] virtual std::vector<Winner> winners(const ResultFilter& filter) const = 0;
  [[nodiscard]] virtual std::vector<Winner> best_trials(const ResultFilter& filter) const = 0;
  virtual void visit_problems(const ResultFilter& filter,
                              const std::function<void(const Problem&)>& visit) const = 0;
};

}  // namespace autotune
