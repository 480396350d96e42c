// The reader of Kernel Tuner's cache files: an object of configurations under "cache", each with
// its parameters next to its measurements. A configuration that failed has the name of its error as
// time.
#include "tuner/replay/objective.hpp"
#include "tuner/replay/recorded_result.hpp"

namespace autotune {
namespace {

TrialStatus status_from_error(const std::string& error) {
  if (error == "CompilationFailedConfig") return TrialStatus::compile_failed;
  if (error == "InvalidConfig") return TrialStatus::rejected_spills;
  return TrialStatus::launch_failed;
}

RecordedResult read_entry(const OrderedJson& entry, const std::vector<std::string>& parameters,
                          const std::string& objective) {
  RecordedResult read{.configuration = OrderedJson::object()};
  for (const std::string& name : parameters) read.configuration[name] = entry.at(name);
  const OrderedJson& value = entry.at(objective);
  if (!value.is_number()) {
    read.status = status_from_error(value.is_string() ? value.get<std::string>() : "");
    return read;
  }
  const std::string unit = objective.rfind("time", 0) == 0 ? "ms" : "";
  const std::optional<double> cost = objective_cost(objective, value, unit);
  if (!cost) read.status = TrialStatus::launch_failed;
  read.median_us = cost.value_or(0);
  return read;
}

}  // namespace

std::vector<RecordedResult> read_kernel_tuner_cache(const OrderedJson& document) {
  const auto parameters = document.at("tune_params_keys").get<std::vector<std::string>>();
  const std::string objective = document.value("objective", "time");
  std::vector<RecordedResult> results;
  for (const OrderedJson& entry : document.at("cache")) {
    results.push_back(read_entry(entry, parameters, objective));
  }
  return results;
}

}  // namespace autotune
