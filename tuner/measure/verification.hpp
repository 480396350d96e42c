// Decides from the findings of the check kernels (tuner/measure/kernels/verification.cu) whether a
// result is right. Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "core/tensor.hpp"
#include "core/trial.hpp"

namespace autotune {

// The findings of one block of a check kernel; the kernels write this struct.
struct Finding {
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  double max_error_ratio = 0;  // of the elements whose ratio is a finite number
  double error_squares = 0;    // sums over these elements
  double reference_squares = 0;
  std::int64_t wrong = 0;            // the number of wrong elements, NaN included
  std::int64_t first_wrong = kNone;  // the least index of them, counted row by row
  std::int64_t outside = 0;          // the number of words of the guard zones that were written to
};
static_assert(sizeof(Finding) == 48);

// Returns the findings of all blocks together.
[[nodiscard]] Finding merged(std::span<const Finding> blocks);

// ||result - reference||_F / ||reference||_F.
[[nodiscard]] double frobenius_error(const Finding& finding);

// ok, wrong_result or out_of_bounds, with one line of explanation.
struct CheckOutcome {
  TrialStatus status = TrialStatus::ok;
  std::string detail;

  [[nodiscard]] bool ok() const { return status == TrialStatus::ok; }
};

// `when` completes "wrong ...": "on integers", "on random data", "after repeated launches". The
// output is named if it is one of several.
[[nodiscard]] CheckOutcome outcome_of(const Finding& finding, const TensorDesc& output,
                                      const std::string& when, bool is_one_of_several = false);

}  // namespace autotune
