#include "cli/output/trial_export.hpp"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/output/problem_text.hpp"
#include "cli/output/table.hpp"
#include "core/json.hpp"
#include "operation/problem_json.hpp"

namespace autotune {
namespace {

using nlohmann::ordered_json;

// In ASCII, because a terminal acts upon some other characters. Bytes that are not UTF-8 (in a
// driver's label, say) become U+FFFD.
std::string text_of(const ordered_json& json) {
  return json.dump(-1, ' ', true, ordered_json::error_handler_t::replace);
}

// An object with the head's members and, under `key`, the entries, one a line.
std::string document(const ordered_json& head, const char* key, std::span<const StoredTrial> trials,
                     const auto& entry) {
  std::string text = text_of(head);
  text.pop_back();
  text += fmt::format(",\"{}\":[", key);
  const char* separator = "\n";
  for (const StoredTrial& trial : trials) {
    text += separator + text_of(entry(trial));
    separator = ",\n";
  }
  return text + "\n]}\n";
}

// Keeps the template's order of parameters, unlike the core's JSON form.
ordered_json in_order(const Configuration& configuration) {
  ordered_json object = ordered_json::object();
  for (const auto& [name, value] : configuration.entries()) object[name] = value;
  return object;
}

ordered_json plain(const auto& value) {
  return ordered_json(nlohmann::json(value));
}

const char* invalidity(TrialStatus status) {
  switch (status) {
    case TrialStatus::ok:
      return "correct";
    case TrialStatus::rejected_spills:
      return "constraints";
    case TrialStatus::compile_failed:
    case TrialStatus::compile_crashed:
      return "compile";
    case TrialStatus::compile_timeout:
    case TrialStatus::run_timeout:
      return "timeout";
    case TrialStatus::wrong_result:
    case TrialStatus::out_of_bounds:
      return "correctness";
    case TrialStatus::load_failed:
    case TrialStatus::launch_failed:
    case TrialStatus::out_of_memory:
    case TrialStatus::run_crashed:
      return "runtime";
  }
  return "runtime";
}

ordered_json t4_result(const StoredTrial& stored, bool with_samples) {
  const Trial& trial = stored.trial;
  ordered_json times = ordered_json::object();
  if (trial.resources.compile_ms >= 0) {
    times["compilation_time"] = trial.resources.compile_ms * 1e3;
  }
  if (with_samples) times["runtimes"] = trial.measurement.samples_us;
  ordered_json measurements = ordered_json::array();
  if (trial.ok()) {
    measurements.push_back(
        {{"name", "time"}, {"value", trial.measurement.median_us}, {"unit", "us"}});
  }
  return {{"timestamp", stored.run.started_at},
          {"configuration", in_order(trial.configuration)},
          {"objectives", ordered_json::array({"time"})},
          {"times", times},
          {"invalidity", invalidity(trial.status)},
          {"correctness", trial.ok() ? 1 : 0},
          {"measurements", measurements},
          {"problem", exported_problem(trial.problem)},
          {"template", stored.scope.template_name},
          {"device", stored.run.device_label}};
}

ordered_json full_entry(const StoredTrial& stored, bool with_samples) {
  const Trial& trial = stored.trial;
  Measurement measurement = trial.measurement;
  if (!with_samples) measurement.samples_us.clear();
  return {{"device", stored.run.device_label},
          {"device_uuid", stored.run.device_uuid},
          {"silicon_class", stored.scope.device_class},
          {"environment", plain(stored.scope.environment)},
          {"run", stored.run.guid},
          {"command", stored.run.command},
          {"started_at", stored.run.started_at},
          {"template", stored.scope.template_name},
          {"interface", stored.scope.space_version},
          {"source_hash", stored.scope.source_hash},
          {"problem", exported_problem(trial.problem)},
          {"configuration", in_order(trial.configuration)},
          {"status", to_string(trial.status)},
          {"detail", trial.detail},
          {"measurement", plain(measurement)},
          {"verification", plain(trial.verification)},
          {"resources", plain(trial.resources)}};
}

// The names of entries, in the order of their first appearance.
std::vector<std::string> names_of(std::span<const StoredTrial> trials, const auto& entries_of) {
  std::vector<std::string> names;
  std::unordered_set<std::string> known;
  for (const StoredTrial& stored : trials) {
    for (const auto& [name, value] : entries_of(stored.trial)) {
      if (known.insert(name).second) names.push_back(name);
    }
  }
  return names;
}

}  // namespace

std::string trials_as_t4(std::span<const StoredTrial> trials, bool with_samples) {
  const ordered_json head = {{"schema_version", "1.0.0"},
                             {"metadata", {{"timeunit", "microseconds"}}}};
  return document(head, "results", trials,
                  [&](const StoredTrial& trial) { return t4_result(trial, with_samples); });
}

std::string trials_as_json(std::span<const StoredTrial> trials, bool with_samples) {
  const ordered_json head = {{"schema", 1}, {"command", "db export"}};
  return document(head, "trials", trials,
                  [&](const StoredTrial& trial) { return full_entry(trial, with_samples); });
}

std::string trials_as_csv(std::span<const StoredTrial> trials, const KernelSet& kernels) {
  const std::vector<std::string> columns =
      names_of(trials, [](const Trial& trial) { return exported_columns(trial.problem); });
  const std::vector<std::string> parameters =
      names_of(trials, [](const Trial& trial) { return trial.configuration.entries(); });
  std::vector<std::string> header = {"device", "template"};
  header.insert(header.end(), columns.begin(), columns.end());
  header.insert(header.end(), {"status", "median_us", "gflops", "detail"});
  header.insert(header.end(), parameters.begin(), parameters.end());
  Table table(header);
  for (const StoredTrial& stored : trials) {
    const Trial& trial = stored.trial;
    std::vector<std::string> row = {stored.run.device_label, stored.scope.template_name};
    const auto own_columns = exported_columns(trial.problem);
    for (const std::string& name : columns) {
      const auto own = std::ranges::find_if(
          own_columns, [&](const auto& column) { return column.first == name; });
      row.push_back(own == own_columns.end() ? "" : own->second);
    }
    const double us = trial.ok() ? trial.measurement.median_us : 0;
    const double rate = rate_of(kernels, trial.problem, us);
    row.insert(row.end(), {to_string(trial.status), trial.ok() ? fmt::format("{}", us) : "",
                           rate > 0 ? fmt::format("{}", rate) : "", trial.detail});
    for (const std::string& name : parameters) {
      const bool has = trial.configuration.contains(name);
      row.push_back(has ? std::to_string(trial.configuration.at(name)) : "");
    }
    table.add(std::move(row));
  }
  return table.csv();
}

}  // namespace autotune
