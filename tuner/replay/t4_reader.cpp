// The reader of T4 results. Kernel Tuner's spelling differs in keys that do not matter here, in the
// unit, which holds for the whole file, and in values that are texts where a configuration failed.
#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "core/statistics.hpp"
#include "operation/problem_json.hpp"
#include "tuner/replay/objective.hpp"
#include "tuner/replay/recorded_result.hpp"

namespace autotune {
namespace {

constexpr std::array kInvalidity = {
    std::pair{"correct", TrialStatus::ok},
    std::pair{"timeout", TrialStatus::run_timeout},
    std::pair{"compile", TrialStatus::compile_failed},
    std::pair{"runtime", TrialStatus::launch_failed},
    std::pair{"correctness", TrialStatus::wrong_result},
    std::pair{"constraints", TrialStatus::rejected_spills},
};

TrialStatus status_of(const OrderedJson& result) {
  const auto word = result.at("invalidity").get<std::string>();
  for (const auto& [name, status] : kInvalidity) {
    if (word == name) return status;
  }
  return TrialStatus::launch_failed;  // any other reason
}

using Measurements = std::map<std::string_view, const OrderedJson*>;  // the first of each name

Measurements measurements_of(const OrderedJson& result) {
  Measurements found;
  const auto measurements = result.find("measurements");
  if (measurements == result.end()) return found;
  for (const OrderedJson& measurement : *measurements) {
    const OrderedJson& name = measurement.at("name");
    if (name.is_string()) found.emplace(name.get_ref<const std::string&>(), &measurement);
  }
  return found;
}

// The objective of the search: the first one that was measured, or the time.
std::pair<std::string, const OrderedJson*> objective_of(const OrderedJson& result) {
  const Measurements measurements = measurements_of(result);
  for (const OrderedJson& name : result.value("objectives", OrderedJson::array())) {
    if (!name.is_string()) continue;
    const auto found = measurements.find(name.get_ref<const std::string&>());
    if (found != measurements.end()) return {name, found->second};
  }
  const auto time = measurements.find("time");
  return {"time", time == measurements.end() ? nullptr : time->second};
}

// The name of what the search should have measured.
std::string wanted_objective(const OrderedJson& result) {
  const OrderedJson names = result.value("objectives", OrderedJson::array());
  return !names.empty() && names.front().is_string() ? names.front() : OrderedJson("time");
}

void read_cost(RecordedResult& read, const OrderedJson& result, const std::string& time_unit) {
  const auto [name, measurement] = objective_of(result);
  if (measurement != nullptr) {
    const OrderedJson& value = measurement->at("value");
    const std::string unit = measurement->value("unit", "");
    const bool has_unit = !unit.empty() || name != "time";
    if (value.is_number()) read.cost = objective_cost(name, value, has_unit ? unit : time_unit);
    return;
  }
  const OrderedJson runtimes = result.at("times").value("runtimes", OrderedJson::array());
  const auto is_number = [](const OrderedJson& value) { return value.is_number(); };
  if (runtimes.empty()) {
    read.lacks = wanted_objective(result);
  } else if (std::ranges::all_of(runtimes, is_number)) {
    read.cost = objective_cost("time", median(runtimes.get<std::vector<double>>()), time_unit);
  }
}

RecordedResult read_result(const OrderedJson& result, const std::string& time_unit) {
  RecordedResult read{.configuration = result.at("configuration"), .status = status_of(result)};
  if (result.contains("problem") && result.contains("template")) {
    read.problem = problem_from_export(nlohmann::json(result.at("problem")));
    read.template_name = result.at("template");
    read.device = result.value("device", "");
  }
  if (read.status == TrialStatus::ok) read_cost(read, result, time_unit);
  return read;
}

}  // namespace

ResultReader t4_reader(const OrderedJson& outline) {
  const std::string time_unit =
      outline.value("metadata", OrderedJson::object()).value("timeunit", "milliseconds");
  return [time_unit](const std::string&, const OrderedJson& result) {
    return read_result(result, time_unit);
  };
}

}  // namespace autotune
