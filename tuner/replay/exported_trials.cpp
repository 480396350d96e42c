// The reader of trials that this program exported.
#include "operation/problem_json.hpp"
#include "tuner/replay/objective.hpp"
#include "tuner/replay/recorded_result.hpp"

namespace autotune {

ResultReader exported_trials_reader(const OrderedJson&) {
  return [](const std::string&, const OrderedJson& trial) -> RecordedResult {
    const OrderedJson& median_us = trial.at("measurement").at("median_us");
    return {.problem = problem_from_export(nlohmann::json(trial.at("problem"))),
            .template_name = trial.at("template"),
            .device = trial.at("device"),
            .configuration = trial.at("configuration"),
            .status = trial_status_from_string(trial.at("status")),
            .cost = median_us.is_number() ? objective_cost("time", median_us, "us") : std::nullopt};
  };
}

}  // namespace autotune
