#include "cli/output/analysis_report.hpp"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/gemm_output.hpp"
#include "cli/output/table.hpp"

namespace autotune {
namespace {

using Json = nlohmann::ordered_json;

struct LimitFigure {
  const char* name;  // as --limit has it
  std::optional<std::int64_t> Occupancy::*blocks;
};

constexpr LimitFigure kLimitFigures[] = {
    {"threads_per_sm", &Occupancy::by_threads},
    {"shared_per_sm", &Occupancy::by_shared},
    {"registers_per_sm", &Occupancy::by_registers},
    {"blocks_per_sm", &Occupancy::by_blocks},
};

template <typename T>
Json json_or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

// Writes whole numbers as 16, not as 16.0.
Json json_number(double value) {
  const auto whole = static_cast<std::int64_t>(value);
  return static_cast<double>(whole) == value ? Json(whole) : Json(value);
}

std::string number_text(double value) {
  const auto whole = static_cast<std::int64_t>(value);
  return static_cast<double>(whole) == value ? fmt::format("{}", whole)
                                             : fmt::format("{:.2f}", value);
}

const char* space_text(MemorySpace space) {
  return space == MemorySpace::global ? "global" : "shared";
}

Json access_json(const AccessSummary& access) {
  const char* unit = access.space == MemorySpace::global ? "sectors" : "wavefronts";
  return {{"name", access.name},
          {"memory", space_text(access.space)},
          {"bytes_per_lane", access.bytes_per_lane},
          {unit, json_number(access.transactions)},
          {"least", json_number(access.least)}};
}

Json roofline_json(const std::optional<Roofline>& roofline) {
  if (!roofline) return {};
  return {{"compute_us", roofline->compute_us},
          {"memory_us", roofline->memory_us},
          {"bound_us", roofline->bound_us()},
          {"bound_by", roofline->bound_by()}};
}

Json device_json(const AnalyzedDevice& device) {
  const auto text = [](const std::string& value) { return value.empty() ? Json() : Json(value); };
  return {{"label", text(device.label)},
          {"architecture", text(device.architecture)},
          {"sm_count", device.sm_count > 0 ? Json(device.sm_count) : Json()}};
}

std::string device_text(const AnalyzedDevice& device) {
  std::string text = device.label.empty() ? "no device" : printable(device.label);
  if (device.label.empty() && !device.architecture.empty()) return device.architecture;
  if (!device.architecture.empty()) text += ", " + device.architecture;
  if (device.sm_count > 0) text += fmt::format(", {} SMs", device.sm_count);
  return text;
}

// Several limits may allow equally few blocks; then each of them binds.
Table limit_table(const Occupancy& occupancy) {
  Table table({"limit", "blocks per SM", ""});
  for (const auto& [name, blocks] : kLimitFigures) {
    const bool binds = occupancy.*blocks && occupancy.*blocks == occupancy.blocks_per_sm;
    table.add({name, (occupancy.*blocks) ? fmt::format("{}", *(occupancy.*blocks)) : "-",
               binds ? "binds" : ""});
  }
  if (occupancy.limited_by == "threads_per_block" || occupancy.limited_by == "shared_per_block") {
    table.add({occupancy.limited_by, "0", "binds"});
  }
  return table;
}

Table access_table(const std::vector<AccessSummary>& accesses) {
  Table table({"access of a warp", "memory", "bytes a lane", "takes", "least", "of"});
  for (const AccessSummary& access : accesses) {
    table.add({access.name, space_text(access.space), fmt::format("{}", access.bytes_per_lane),
               number_text(access.transactions), number_text(access.least),
               access.space == MemorySpace::global ? "sectors" : "wavefronts"});
  }
  return table;
}

std::string line(const char* name, const std::string& value) {
  return fmt::format("{:<21} {}\n", name, value);
}

std::string line(const char* name, std::int64_t value) {
  return line(name, fmt::format("{}", value));
}

std::string line(const char* name, const std::optional<std::int64_t>& value) {
  return line(name, value ? fmt::format("{}", *value) : "-");
}

// The lines that depend on the size.
std::string problem_text(const AnalysisReport& report) {
  const Analysis& a = report.analysis;
  std::string waves = "-";
  if (a.waves) {
    waves =
        fmt::format("{:.2f}, {:.0f} % of the SMs' time used", *a.waves, 100 * *a.wave_efficiency);
  }
  std::string bound = "-";
  if (report.roofline) {
    bound = fmt::format("{}, bound by {}", time_text(report.roofline->bound_us()),
                        report.roofline->bound_by());
  }
  return line("size", report.chosen.kernel->operation->text(*report.problem)) +
         line("blocks", a.blocks) + line("waves", waves) + line("roofline", bound);
}

void add_request(Json& document, const AnalysisReport& report) {
  Json configuration = Json::object();
  for (const auto& [name, value] : report.chosen.configuration.entries()) {
    configuration[name] = value;
  }
  document["device"] = device_json(report.device);
  document.update(size_json(report.problem));
  document["layout"] = report.layout;
  document["template"] = report.chosen.kernel->name;
  document["configuration"] = std::move(configuration);
  document["chosen_because"] = report.chosen.origin;
}

void add_figures(Json& document, const AnalysisReport& report) {
  const Analysis& a = report.analysis;
  const std::string& binds = a.occupancy.limited_by;
  Json limits = Json::object();
  for (const auto& [name, blocks] : kLimitFigures) {
    limits[name] = json_or_null(a.occupancy.*blocks);
  }
  document["threads"] = a.threads;
  document["loads_per_phase"] = json_or_null(a.loads_per_phase);
  document["operations_per_phase"] = json_or_null(a.operations_per_phase);
  document["operations_per_load"] =
      a.operations_per_load ? json_number(*a.operations_per_load) : Json();
  document["pending_loads"] = json_or_null(a.pending_loads);
  document["shared_bytes"] = a.shared_bytes;
  document["reserved_shared_bytes"] = a.reserved_shared_bytes;
  document["registers"] = json_or_null(a.registers);
  document["spill_bytes"] = json_or_null(report.spill_bytes);
  document["blocks_per_sm"] = json_or_null(a.occupancy.blocks_per_sm);
  document["limited_by"] = binds.empty() ? Json() : Json(binds);
  document["limits"] = std::move(limits);
  document["blocks"] = json_or_null(a.blocks);
  document["waves"] = json_or_null(a.waves);
  document["wave_efficiency"] = json_or_null(a.wave_efficiency);
  document["roofline"] = roofline_json(report.roofline);
}

}  // namespace

Json analysis_json(const AnalysisReport& report) {
  Json document = {{"schema", 1}, {"command", "analyze"}};
  add_request(document, report);
  add_figures(document, report);
  document["accesses"] = Json();
  for (const AccessSummary& access : report.accesses) {
    document["accesses"].push_back(access_json(access));
  }
  document["notes"] = report.notes;
  return document;
}

std::string analysis_text(const AnalysisReport& report, bool wide) {
  const Analysis& a = report.analysis;
  std::string text = line("device", device_text(report.device));
  text += line("template", report.chosen.kernel->name);
  text += line(
      "configuration",
      configuration_text(report.chosen.kernel, report.chosen.configuration, report.analyzed, wide));
  text += line("origin", report.chosen.origin);
  text += line("threads", a.threads);
  text += line("loads per phase", a.loads_per_phase);
  text += line("operations per phase", a.operations_per_phase);
  text += line("operations per load",
               a.operations_per_load ? number_text(*a.operations_per_load) : "-");
  text += line("pending loads", a.pending_loads);
  text += line("shared bytes", a.shared_bytes);
  text += line("reserved shared bytes", a.reserved_shared_bytes);
  text += line("registers", a.registers);
  text += line("spilled bytes", report.spill_bytes);
  text += line("blocks per SM", a.occupancy.blocks_per_sm);
  if (report.problem) text += problem_text(report);
  text += "\n" + limit_table(a.occupancy).text();
  if (!report.accesses.empty()) text += "\n" + access_table(report.accesses).text();
  return text;
}

}  // namespace autotune
