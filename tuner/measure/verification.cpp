#include "tuner/measure/verification.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace autotune {

Finding merged(std::span<const Finding> blocks) {
  Finding all;
  for (const Finding& block : blocks) {
    all.max_error_ratio = std::max(all.max_error_ratio, block.max_error_ratio);
    all.error_squares += block.error_squares;
    all.reference_squares += block.reference_squares;
    all.wrong += block.wrong;
    all.first_wrong = std::min(all.first_wrong, block.first_wrong);
    all.outside += block.outside;
  }
  return all;
}

double frobenius_error(const Finding& finding) {
  if (finding.error_squares == 0) return 0;
  return std::sqrt(finding.error_squares / finding.reference_squares);
}

CheckOutcome outcome_of(const Finding& finding, const TensorDesc& output, const std::string& when,
                        bool is_one_of_several) {
  if (finding.outside > 0) {
    return {TrialStatus::out_of_bounds,
            fmt::format("wrote to {} {} outside of the output {}{}", finding.outside,
                        finding.outside == 1 ? "word" : "words",
                        is_one_of_several ? output.name + " " : "", when)};
  }
  if (finding.wrong > 0) {
    return {TrialStatus::wrong_result,
            fmt::format(
                "{} of {} elements{} are wrong {}, the first in row {}, column {}", finding.wrong,
                output.elements(), is_one_of_several ? " of " + output.name : "", when,
                finding.first_wrong / output.columns, finding.first_wrong % output.columns)};
  }
  return {};
}

double tolerance_ratio(double result, double expected, const Tolerance& tolerance) {
  if (result == expected || (std::isnan(result) && std::isnan(expected))) return 0;
  return std::fabs(result - expected) /
         (tolerance.absolute + tolerance.relative * std::fabs(expected));
}

CheckOutcome outcome_of(const Finding& finding, const TensorDesc& output, const std::string& when,
                        const WrongOutput& wrong) {
  if (finding.outside > 0 || finding.wrong == 0) return outcome_of(finding, output, when, true);
  const std::int64_t elements = output.elements();
  if (wrong.unwritten == elements) {
    return {TrialStatus::wrong_result,
            fmt::format("wrote nothing to the output {} {}", output.name, when)};
  }
  if (wrong.unwritten > 0) {
    return {TrialStatus::wrong_result,
            fmt::format("left {} of {} elements of the output {} unwritten {}, the first is {}",
                        wrong.unwritten, elements, output.name, when,
                        place_text(output, wrong.first_unwritten))};
  }
  return {TrialStatus::wrong_result,
          fmt::format("{} of {} elements of {} are wrong {}; {} is {}, but {} is expected",
                      finding.wrong, elements, output.name, when,
                      place_text(output, finding.first_wrong), wrong.value, wrong.expected)};
}

std::string place_text(const TensorDesc& tensor, std::int64_t element) {
  if (tensor.matrices * tensor.rows == 1) return fmt::format("element {}", element);
  return fmt::format("row {}, column {}", element / tensor.columns, element % tensor.columns);
}

}  // namespace autotune
