// The reader of Kernel Tuner's cache files: an object of configurations under "cache", whose keys
// are the values of the parameters. An entry has its measurements, and mostly its parameters too. A
// configuration that failed has the name of its error under "__error__" since version 1.4, and as
// its time before.
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

OrderedJson configuration_of(const std::string& key, const OrderedJson& entry,
                             const std::vector<std::string>& parameters) {
  OrderedJson configuration = OrderedJson::object();
  const std::vector<std::string> values = values_in(key);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto own = entry.find(parameters[i]);
    if (own == entry.end() && values.size() != parameters.size()) {
      throw UsageError(fmt::format("the entry '{}' has not one value for each of {} parameters",
                                   key, parameters.size()));
    }
    configuration[parameters[i]] = own != entry.end() ? *own : OrderedJson(values[i]);
  }
  return configuration;
}

RecordedResult read_entry(const std::string& key, const OrderedJson& entry,
                          const std::vector<std::string>& parameters,
                          const std::string& objective) {
  RecordedResult read{.configuration = configuration_of(key, entry, parameters)};
  const OrderedJson value = entry.value(objective, OrderedJson());
  if (entry.contains("__error__")) {
    read.status = status_from_error(entry.at("__error__"));
  } else if (!value.is_number()) {
    read.status = status_from_error(value);
  } else {
    const std::string unit = objective.rfind("time", 0) == 0 ? "ms" : "";
    read.cost = objective_cost(objective, value, unit);
  }
  return read;
}

// The first, where the search had several.
std::string objective_of(const OrderedJson& document) {
  const OrderedJson objective = document.value("objective", OrderedJson("time"));
  return objective.is_array() ? objective.at(0) : objective;
}

}  // namespace

ResultReader kernel_tuner_reader(const OrderedJson& outline) {
  return [parameters = outline.at("tune_params_keys").get<std::vector<std::string>>(),
          objective = objective_of(outline)](const std::string& key, const OrderedJson& entry) {
    return read_entry(key, entry, parameters, objective);
  };
}

}  // namespace autotune
