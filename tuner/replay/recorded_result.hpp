// A configuration in a file of recorded results, and the readers of these files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/trial.hpp"

namespace autotune {

// The order of parameters matters, since a template's parameters have the order of its space.
using OrderedJson = nlohmann::ordered_json;

struct RecordedResult {
  std::optional<Problem> problem;  // in recordings of this program
  std::string template_name;       // empty in recordings of other programs
  std::string device;              // empty in recordings of other programs
  OrderedJson configuration;       // an object of any scalars
  TrialStatus status = TrialStatus::ok;
  double median_us = 0;  // or the cost, where the objective is not a time
};

// Each reader throws UsageError, or an exception of the JSON library, for a file of another format.
// T4 results: schema 1.0.0, and as Kernel Tuner writes them.
[[nodiscard]] std::vector<RecordedResult> read_t4(const OrderedJson& document);
[[nodiscard]] std::vector<RecordedResult> read_kernel_tuner_cache(const OrderedJson& document);
// The output of `autotune db export --format json`.
[[nodiscard]] std::vector<RecordedResult> read_exported_trials(const OrderedJson& document);

}  // namespace autotune
