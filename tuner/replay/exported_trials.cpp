// The reader of trials that this program exported.
#include "operation/problem_json.hpp"
#include "tuner/replay/objective.hpp"
#include "tuner/replay/recorded_result.hpp"

namespace autotune {

std::vector<RecordedResult> read_exported_trials(const OrderedJson& document) {
  std::vector<RecordedResult> results;
  for (const OrderedJson& trial : document.at("trials")) {
    const OrderedJson& median_us = trial.at("measurement").at("median_us");
    results.push_back(
        {.problem = problem_from_export(nlohmann::json(trial.at("problem"))),
         .template_name = trial.at("template"),
         .device = trial.at("device"),
         .configuration = trial.at("configuration"),
         .status = trial_status_from_string(trial.at("status")),
         .cost = median_us.is_number() ? objective_cost("time", median_us, "us") : std::nullopt});
  }
  return results;
}

}  // namespace autotune
