// A choice of stored results.
#pragma once

#include <optional>
#include <string>

#include "core/possible_time.hpp"
#include "core/problem.hpp"
#include "core/winner.hpp"

namespace autotune {

// Every empty member stands for all.
struct ResultFilter {
  std::string device_class;
  std::string device_label;  // compared by same_label()
  std::string operation;
  Problem problem;
  std::optional<double> max_error;  // of trials: the greatest relative Frobenius error
  // Leaves out winners and fastest trials whose time is not possible by the stored rates.
  PossibleTime is_possible = {};
};

// Compares labels without regard to case, and with "host: <CPU>", as version
// 0.1 wrote it, for "cpu: <CPU>".
[[nodiscard]] bool same_label(const std::string& a, const std::string& b);
// The label as it is stored today: "cpu: <CPU>" for "host: <CPU>", any other one as it is.
[[nodiscard]] std::string current_label(const std::string& label);

[[nodiscard]] bool matches(const ResultFilter& filter, const Winner& winner);

}  // namespace autotune
