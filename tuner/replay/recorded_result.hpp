// One configuration as a file of recorded results has it, and the readers of these files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/trial.hpp"

namespace autotune {

// Of parameters the order matters: that of a template is the order of its space.
using OrderedJson = nlohmann::ordered_json;

struct RecordedResult {
  std::optional<Problem> problem;  // of recordings of this program
  std::string template_name;       // likewise
  std::string device;              // likewise
  OrderedJson configuration;       // an object of any scalars
  TrialStatus status = TrialStatus::ok;
  double median_us = 0;  // or what else was to be made small, where it is no time
};

// Each throws UsageError, or an exception of the JSON library, for what is not of its format.
// T4 results: schema 1.0.0, and as Kernel Tuner writes them.
[[nodiscard]] std::vector<RecordedResult> read_t4(const OrderedJson& document);
[[nodiscard]] std::vector<RecordedResult> read_kernel_tuner_cache(const OrderedJson& document);
// What `autotune db export --format json` writes.
[[nodiscard]] std::vector<RecordedResult> read_exported_trials(const OrderedJson& document);

}  // namespace autotune
