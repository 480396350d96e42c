#include "cli/output/results_json.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autotune/error.hpp"

#include "cli/output/table.hpp"
#include "operation/gemm/gemm.hpp"

namespace autotune {
namespace {

using Json = nlohmann::ordered_json;

Json problem_part(const GemmProblem& problem, const std::string& status, const std::string& match) {
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
void add_figures(Json& entry, const Result& result, const KernelTemplate* kernel,
                 double median_us) {
  const Verification& verification = result.verification;
  entry["median_us"] = median_us;
  entry["gflops"] = gflops(gemm_problem(result.problem), median_us);
  entry["integers_exact"] = verification.integers_exact;
  entry["max_error_ratio"] = verification.max_error_ratio;
  entry["frobenius_error"] = verification.frobenius_error;
  entry["registers"] = known(result.resources.registers);
  add_shared_bytes(entry, kernel, result.configuration, result.problem, result.resources);
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

Json problem_json(const GemmProblem& problem) {
  Json part = {{"m", problem.m}, {"n", problem.n}, {"k", problem.k}};
  if (problem.batch > 1) part["batch"] = problem.batch;
  part["layout"] = layout_text(problem);
  part["math"] = to_string(problem.math);
  if (problem.types != GemmTypes()) part["type"] = to_string(problem.types);
  return part;
}

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

Json result_entry(const Winner& winner, const KernelTemplate* kernel, const std::string& match) {
  Json entry = problem_part(gemm_problem(winner.problem), "ok", match);
  entry["template"] = winner.template_name;
  entry["configuration"] = configuration_part(winner.configuration);
  add_figures(entry, winner, kernel, winner.median_us);
  entry["low_us"] = winner.low_us;
  entry["high_us"] = winner.high_us;
  entry["confirmed"] = winner.confirmed;
  Json ties = Json::array();
  for (const Configuration& tie : winner.ties) ties.push_back(configuration_part(tie));
  entry["ties"] = std::move(ties);
  entry["note"] = winner.note;
  entry["measured_at"] = winner.measured_at;
  return entry;
}

Json result_entry(const Trial& trial, const KernelTemplate* kernel) {
  Json entry = problem_part(gemm_problem(trial.problem), to_string(trial.status), "measured");
  entry["template"] = trial.template_name;
  entry["configuration"] = configuration_part(trial.configuration);
  if (trial.ok()) {
    add_figures(entry, trial, kernel, trial.measurement.median_us);
    entry["note"] = trial.detail;
  } else {
    entry["detail"] = trial.detail;
  }
  return entry;
}

Json empty_entry(const GemmProblem& problem, const std::string& status) {
  return problem_part(problem, status, "none");
}

Json borrowed_entry(const GemmProblem& problem, const std::string& template_name,
                    const Configuration& configuration, const std::string& match) {
  Json entry = problem_part(problem, "ok", match);
  entry["template"] = template_name;
  entry["configuration"] = configuration_part(configuration);
  entry["median_us"] = nullptr;
  entry["gflops"] = nullptr;
  return entry;
}

std::string results_csv(const Json& document) {
  std::vector<std::string> columns = {"m",
                                      "n",
                                      "k",
                                      "layout",
                                      "math",
                                      "status",
                                      "match",
                                      "tuned_for",
                                      "device",
                                      "template",
                                      "configuration",
                                      "median_us",
                                      "low_us",
                                      "high_us",
                                      "gflops",
                                      "fma_fraction",
                                      "cublas_us",
                                      "confirmed",
                                      "registers",
                                      "static_shared_bytes",
                                      "dynamic_shared_bytes"};
  const Json& results = document.at("results");
  const bool has_batches = std::any_of(results.begin(), results.end(),
                                       [](const Json& entry) { return entry.contains("batch"); });
  if (has_batches) columns.insert(columns.begin() + 3, "batch");
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
