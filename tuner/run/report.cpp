#include "tuner/run/report.hpp"

#include <fmt/format.h>

namespace autotune {

std::string why_no_winner(const ProblemResult& result) {
  if (result.winner) return "";
  if (!result.too_large.empty()) return result.too_large;
  if (result.valid_configurations == 0) return "no template that was searched computes it";
  if (result.least_error) {
    return fmt::format("no configuration meets the limit of the error: the least error was {:.2e}",
                       *result.least_error);
  }
  return result.tried() == 0 ? "ended before the first trial"
                             : "no configuration gave a correct result";
}

}  // namespace autotune
