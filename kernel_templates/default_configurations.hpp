// Default configurations as data: kernel_templates/defaults/<template>.jsonl has one a line,
//
//   {"max_shorter_side": 32, "max_k": 1024, "configuration": {"RESULTS_M": 4, ...}}
//
// and the first line whose conditions a problem meets has its default. Conditions that a line lacks
// are met: max_shorter_side (of m and n), max_results (m * n), min_k and max_k.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "autotune/problem.hpp"

#include "core/config_space.hpp"

namespace autotune {

class DefaultConfigurations {
 public:
  // Reads a template's file. `parameters`: the template's; each line must have all of them.
  DefaultConfigurations(std::string_view template_name,
                        const std::vector<TuningParameter>& parameters);

  // The values are in the order of the parameters.
  [[nodiscard]] const Configuration& at(const GemmProblem& problem) const;

 private:
  static constexpr auto kNoLimit = std::numeric_limits<double>::infinity();

  struct Line {
    double max_shorter_side = kNoLimit;
    double max_results = kNoLimit;
    double min_k = 0;
    double max_k = kNoLimit;
    Configuration configuration;
  };
  std::vector<Line> lines_;
};

}  // namespace autotune
