#include "cli/output/results_json.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autotune/error.hpp"

#include "cli/gemm_output.hpp"
#include "cli/output/problem_text.hpp"
#include "cli/output/table.hpp"

namespace autotune {
namespace {

using Json = nlohmann::ordered_json;

Json problem_part(const Problem& problem, const std::string& status, const std::string& match) {
  Json part = problem_json(problem);
  part["status"] = status;
  part["match"] = match;
  return part;
}

// What is not known is null.
Json known(std::int64_t figure) {
  return figure >= 0 ? Json(figure) : Json();
}
Json known(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

Json configuration_part(const Configuration& configuration) {
  Json part = Json::object();
  for (const auto& [name, value] : configuration.entries()) part[name] = value;
  return part;
}

// The shared memory of a block: what the compiler reserves, and what a launch asks for. The latter
// is unknown of templates that this program does not have.
void add_shared_bytes(Json& entry, const KernelTemplate* kernel, const Configuration& configuration,
                      const Problem& problem, const Resources& resources) {
  entry["static_shared_bytes"] = known(resources.shared_bytes);
  entry["dynamic_shared_bytes"] = Json();
  if (kernel == nullptr) return;
  try {
    entry["dynamic_shared_bytes"] =
        kernel->geometry(kernel->space.validated(configuration), problem).dynamic_shared_bytes;
  } catch (const UsageError&) {  // a configuration of another version of the template
  }
}

// Those of a Winner or a Trial.
template <typename Result>
void add_figures(Json& entry, const KernelSet& kernels, const Result& result, double median_us) {
  const Verification& verification = result.verification;
  entry["median_us"] = median_us;
  entry["gflops"] = rate_of(kernels, result.problem, median_us);
  entry["integers_exact"] = verification.integers_exact;
  entry["max_error_ratio"] = verification.max_error_ratio;
  entry["frobenius_error"] = verification.frobenius_error;
  entry["registers"] = known(result.resources.registers);
  add_shared_bytes(entry, kernels.find(result.template_name), result.configuration, result.problem,
                   result.resources);
}

// "TILE_WIDTH=16,UNROLL=8" of a configuration.
std::string csv_text(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return value;
  if (!value.is_object()) return value.dump();
  std::string text;
  for (const auto& [name, part] : value.items()) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, part.dump());
  }
  return text;
}

}  // namespace

Json results_document(const std::string& command, const DeviceInfo* device,
                      const std::string& device_label) {
  Json shown = {{"label", device_label}};
  if (device != nullptr) {
    shown["architecture"] = device->architecture();
    shown["silicon_class"] = device->device_class();
    shown["uuid"] = known(device->uuid);
    shown["driver"] = known(device->driver_release);
  }
  return {{"schema", 1},
          {"command", command},
          {"device", std::move(shown)},
          {"results", Json::array()},
          {"measured", 0},
          {"known", 0}};
}

Json result_entry(const KernelSet& kernels, const Winner& winner, const std::string& match) {
  Json entry = problem_part(winner.problem, "ok", match);
  entry["template"] = winner.template_name;
  entry["configuration"] = configuration_part(winner.configuration);
  add_figures(entry, kernels, winner, winner.median_us);
  entry["low_us"] = winner.low_us;
  entry["high_us"] = winner.high_us;
  entry["confirmed"] = winner.confirmed;
  Json ties = Json::array();
  for (const Configuration& tie : winner.ties) ties.push_back(configuration_part(tie));
  entry["ties"] = std::move(ties);
  entry["note"] = winner.note;
  entry["measured_at"] = winner.measured_at;
  if (winner.baseline) add_baseline(entry, *winner.baseline);
  return entry;
}

void add_baseline(Json& entry, const BaselineTime& baseline) {
  if (baseline.library != "cublas") return;  // from another program
  entry["cublas_us"] = baseline.median_us;
  entry["cublas"] = {{"version", known(baseline.version)},
                     {"algorithm", baseline.algorithm},
                     {"low_us", baseline.low_us},
                     {"high_us", baseline.high_us},
                     {"speedup", baseline.speedup},
                     {"speedup_low", baseline.speedup_low},
                     {"speedup_high", baseline.speedup_high},
                     {"measured_at", baseline.measured_at}};
}

Json result_entry(const KernelSet& kernels, const Trial& trial) {
  Json entry = problem_part(trial.problem, to_string(trial.status), "measured");
  entry["template"] = trial.template_name;
  entry["configuration"] = configuration_part(trial.configuration);
  if (trial.ok()) {
    add_figures(entry, kernels, trial, trial.measurement.median_us);
    entry["note"] = trial.detail;
  } else {
    entry["detail"] = trial.detail;
  }
  return entry;
}

Json empty_entry(const Problem& problem, const std::string& status) {
  return problem_part(problem, status, "none");
}

Json borrowed_entry(const Problem& problem, const std::string& template_name,
                    const Configuration& configuration, const std::string& match) {
  Json entry = problem_part(problem, "ok", match);
  entry["template"] = template_name;
  entry["configuration"] = configuration_part(configuration);
  entry["median_us"] = nullptr;
  entry["gflops"] = nullptr;
  return entry;
}

std::string results_csv(const Json& document) {
  const Json& results = document.at("results");
  std::vector<std::string> columns = problem_columns(results);
  columns.insert(columns.end(),
                 {"status", "match", "tuned_for", "device", "template", "configuration",
                  "median_us", "low_us", "high_us", "gflops", "fma_fraction", "cublas_us",
                  "confirmed", "registers", "static_shared_bytes", "dynamic_shared_bytes"});
  Table table(columns);
  for (Json entry : results) {
    if (!entry.contains("device")) entry["device"] = document.at("device").at("label");
    std::vector<std::string> row;
    for (const std::string& column : columns) row.push_back(csv_text(entry[column]));
    table.add(std::move(row));
  }
  return table.csv();
}

void print_document(const Json& document) {
  fmt::print("{}\n", document.dump(2, ' ', true, Json::error_handler_t::replace));
}

}  // namespace autotune
