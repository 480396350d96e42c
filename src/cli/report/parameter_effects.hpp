// The effect of each parameter of a template on the rate, from all trials of a report.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/report/report_data.hpp"

namespace autotune {

// Rates are parts of the best rate that the template reached at the same size. Quartiles are of the
// correct trials, each a rate that was measured: the lower one where two are equally near.
struct ValueEffect {
  std::int64_t value = 0;
  std::size_t trials = 0;
  std::size_t correct = 0;
  double best = 0;
  double upper_quartile = 0;
  double median = 0;
  double lower_quartile = 0;
};

struct ParameterEffect {
  std::string name;
  // The part of the variance of the logarithm of the time, within each size, that the parameter
  // explains by itself. Those of several parameters need not add up to 1.
  double importance = 0;
  std::vector<ValueEffect> values;  // in rising order
};

struct TemplateEffects {
  std::string template_name;
  std::size_t trials = 0;
  std::size_t correct = 0;
  std::vector<ParameterEffect> parameters;  // of at most 64 values, the most important one first
};

// One for each template, in the order of ReportData::spaces.
[[nodiscard]] std::vector<TemplateEffects> parameter_effects(const ReportData& report);

}  // namespace autotune
