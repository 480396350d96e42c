// When is a result right? Judges what the check kernels (tuner/kernels/verification.cu) found on
// the device. Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "autotune/problem.hpp"

#include "core/trial.hpp"
#include "tuner/worker/protocol.hpp"

namespace autotune {

// The relative error of one rounding to FP32.
inline constexpr double kUnitRoundoff = 0x1p-24;

// What one block of a check kernel saw; the kernels write this very struct.
struct Finding {
  double max_error_ratio = 0;  // of the elements whose ratio is a finite number
  double error_squares = 0;    // sums over these elements
  double reference_squares = 0;
  std::int64_t wrong = 0;        // elements, those that are no number among them
  std::int64_t first_wrong = 0;  // the least index of them in C, counted row by row
  std::int64_t outside = 0;      // words around C that were written to
};
static_assert(sizeof(Finding) == 48);

// Of all blocks together. Needs at least one.
[[nodiscard]] Finding merged(std::span<const Finding> blocks);

// The most that |err| / (u |A||B|) of an element may be, u = kUnitRoundoff, for sums of k products:
// the least of a bound that holds for every order of summation and one that random rounding errors
// keep with a probability next to 1. At least one rounding and the store are allowed for. Linear
// data is all of one sign and rounds alike again and again, so only the first holds for it.
[[nodiscard]] double error_bound(std::int64_t k, InputData input);

// ||C - reference||_F / ||reference||_F.
[[nodiscard]] double frobenius_error(const Finding& finding);

// ok, wrong_result or out_of_bounds, with one line that says what was seen.
struct CheckOutcome {
  TrialStatus status = TrialStatus::ok;
  std::string detail;

  [[nodiscard]] bool ok() const { return status == TrialStatus::ok; }
};

// `when` completes "wrong ...": "on integers", "on random data", "after repeated launches".
[[nodiscard]] CheckOutcome outcome_of(const Finding& finding, const GemmProblem& problem,
                                      const std::string& when);

}  // namespace autotune
