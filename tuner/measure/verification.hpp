// Decides from the findings of the check kernels (tuner/measure/kernels) whether a
// result is right. Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "core/tensor.hpp"
#include "core/trial.hpp"
#include "operation/tensor_content.hpp"

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

// How far a result is from what is expected, as a part of what the tolerance allows. The result is
// right if it is at most 1. NaN is right only where NaN is expected, and an infinity only where the
// same one is. NaN and infinity mean that no number says how far it is.
[[nodiscard]] double tolerance_ratio(double result, double expected, const Tolerance& tolerance);

// More about an output that is wrong by its tolerance.
struct WrongOutput {
  std::int64_t unwritten = 0;  // elements that are still poison, unless it is an inout
  std::int64_t first_unwritten = 0;
  std::string value;     // of the first wrong element
  std::string expected;  // in its place
};
// The same as outcome_of for outputs that have tolerances: says what kind of fault it is.
[[nodiscard]] CheckOutcome outcome_of(const Finding& finding, const TensorDesc& output,
                                      const std::string& when, const WrongOutput& wrong);

// "element 12", or "row 1, column 2" of a tensor of several rows.
[[nodiscard]] std::string place_text(const TensorDesc& tensor, std::int64_t element);

}  // namespace autotune
