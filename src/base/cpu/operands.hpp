// The operands of a multiplication in this machine's memory. One user at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "core/thread_pool.hpp"

namespace autotune {

// The first `count` numbers of a sequence that `seed` chooses: integers in [-2, 2], or uniform in
// (-1, 1).
[[nodiscard]] std::vector<float> random_integers(std::int64_t count, std::uint64_t seed,
                                                 ThreadPool& pool);
[[nodiscard]] std::vector<float> random_uniform(std::int64_t count, std::uint64_t seed,
                                                ThreadPool& pool);
// Evenly spaced from `first` on; element `count` would be `last`.
[[nodiscard]] std::vector<float> linear(std::int64_t count, double first, double last,
                                        ThreadPool& pool);

// A result matrix that tells what was written to it. Elements and the guard zones before and
// behind them are poisoned with one particular NaN.
class PoisonedMatrix {
 public:
  PoisonedMatrix(std::int64_t rows, std::int64_t columns);

  [[nodiscard]] float* data() { return memory_.data() + guard_; }
  [[nodiscard]] const float* data() const { return memory_.data() + guard_; }
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t columns() const { return columns_; }

  void poison(ThreadPool& pool);
  [[nodiscard]] bool written(std::int64_t row, std::int64_t column) const;
  // Whether any of these elements of a row was written.
  [[nodiscard]] bool any_written(std::int64_t row, std::int64_t column, std::int64_t count) const;
  // Elements of the guard zones that were written.
  [[nodiscard]] std::int64_t written_outside() const;

 private:
  std::int64_t rows_, columns_;
  std::int64_t guard_;  // elements of a guard zone: a row at least
  std::vector<float> memory_;
};

}  // namespace autotune
