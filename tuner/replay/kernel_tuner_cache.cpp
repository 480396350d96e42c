// The readers of Kernel Tuner's cache files and of the lists that its tune_kernel returns. A cache is
// an object of configurations under "cache", whose keys are the values of the parameters. An entry
// has its measurements, and mostly its parameters too; in a list it begins with them. A
// configuration that failed has the name of its error under "__error__" since version 1.4, and as
// its time before.
#include <algorithm>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "tuner/replay/objective.hpp"
#include "tuner/replay/recorded_result.hpp"

namespace autotune {
namespace {

TrialStatus status_from_error(const OrderedJson& error) {
  if (error == "CompilationFailedConfig") return TrialStatus::compile_failed;
  if (error == "InvalidConfig") return TrialStatus::rejected_spills;
  return TrialStatus::launch_failed;
}

std::vector<std::string> values_in(const std::string& key) {
  std::vector<std::string> values = {""};
  for (const char character : key) {
    if (character == ',') {
      values.emplace_back();
    } else {
      values.back() += character;
    }
  }
  return values;
}

struct CacheParameters {
  std::shared_ptr<const std::vector<std::string>> names;
  std::map<std::string_view, std::size_t> places;  // of the names
};

CacheParameters parameters_of(const OrderedJson& document) {
  auto names = document.at("tune_params_keys").get<std::vector<std::string>>();
  CacheParameters parameters{std::make_shared<const std::vector<std::string>>(std::move(names)),
                             {}};
  for (const std::string& name : *parameters.names) {
    parameters.places.emplace(name, parameters.places.size());
  }
  if (parameters.places.size() == parameters.names->size()) return parameters;
  throw UsageError(
      "its results are not as a cache of Kernel Tuner has them: a parameter is there "
      "twice");
}

RecordedConfiguration configuration_of(const std::string& key, const OrderedJson& entry,
                                       const CacheParameters& parameters) {
  std::vector<OrderedJson> values(parameters.names->size());
  std::vector<bool> has(values.size());
  for (const auto& [name, value] : entry.get_ref<const OrderedJson::object_t&>()) {
    const auto found = parameters.places.find(name);
    if (found == parameters.places.end()) continue;
    values[found->second] = value;
    has[found->second] = true;
  }
  if (std::ranges::find(has, false) != has.end()) {
    const std::vector<std::string> in_key = values_in(key);
    if (in_key.size() != values.size()) {
      throw UsageError(fmt::format("the entry '{}' has not one value for each of {} parameters",
                                   key, values.size()));
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!has[i]) values[i] = in_key[i];
    }
  }
  return {parameters.names, std::move(values)};
}

RecordedResult read_entry(RecordedConfiguration configuration, const OrderedJson& entry,
                          const std::string& objective) {
  RecordedResult read{.configuration = std::move(configuration)};
  const auto error = entry.find("__error__");
  const auto value = entry.find(objective);
  if (error != entry.end()) {
    read.status = status_from_error(*error);
  } else if (value == entry.end()) {
    read.lacks = objective;
  } else if (!value->is_number()) {
    read.status = status_from_error(*value);
  } else {
    const std::string unit = objective.rfind("time", 0) == 0 ? "ms" : "";
    read.cost = objective_cost(objective, *value, unit);
  }
  return read;
}

// What precedes the measurements.
RecordedConfiguration configuration_in_list(const OrderedJson& entry) {
  OrderedJson parameters = OrderedJson::object();
  for (const auto& [name, value] : entry.get_ref<const OrderedJson::object_t&>()) {
    if (name == "time" || name == "__error__") return {parameters};
    parameters.get_ref<OrderedJson::object_t&>().emplace_back(name, value);
  }
  throw UsageError(
      "its results are not as Kernel Tuner lists them: one has no \"time\", which its parameters "
      "precede");
}

// The first, where the search had several.
std::string objective_of(const OrderedJson& document) {
  const OrderedJson objective = document.value("objective", OrderedJson("time"));
  return objective.is_array() ? objective.at(0) : objective;
}

}  // namespace

ResultReader kernel_tuner_reader(const OrderedJson& outline) {
  return [parameters = parameters_of(outline), objective = objective_of(outline)](
             const std::string& key, const OrderedJson& entry) {
    return read_entry(configuration_of(key, entry, parameters), entry, objective);
  };
}

ResultReader kernel_tuner_list_reader(const OrderedJson&) {
  return [](const std::string&, const OrderedJson& entry) {
    return read_entry(configuration_in_list(entry), entry, "time");
  };
}

}  // namespace autotune
