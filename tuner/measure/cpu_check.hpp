// Compares a result of the host device with a reference of its own, computed in FP64.
#pragma once

#include <cstdint>
#include <span>

#include "autotune/problem.hpp"

#include "core/thread_pool.hpp"
#include "cpu/block_sample.hpp"
#include "cpu/operands.hpp"
#include "tuner/measure/verification.hpp"

namespace autotune {

// An operand without gaps, as memory holds it: lines are rows of op(A) or columns of op(B).
struct OperandView {
  const float* data;
  std::int64_t line_step;  // elements from one line to the next
  std::int64_t k_step;     // elements from one k to the next
};
[[nodiscard]] OperandView view_of_a(const GemmProblem& problem, const float* data);
[[nodiscard]] OperandView view_of_b(const GemmProblem& problem, const float* data);

enum class Expectation {
  exact,    // the very numbers: for operands whose products and sums are small integers
  bounded,  // an error ratio of at most `bound` (tuner/verification.hpp)
};

// What is found in these parts of c = op(A) * op(B), and in the guard zones around c. The parts
// are shared out to the pool's threads.
[[nodiscard]] Finding compare(const GemmProblem& problem, const OperandView& a,
                              const OperandView& b, const PoisonedMatrix& c,
                              std::span<const Rectangle> parts, Expectation expectation,
                              double bound, ThreadPool& pool);

}  // namespace autotune
