#include "cli/report/report_json.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autotune/version.hpp"

#include "cli/output/results_json.hpp"
#include "cli/report/parameter_effects.hpp"
#include "core/json.hpp"

namespace autotune {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kShownRuns = 100;

std::string json_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json devices_json(const ReportData& report) {
  Json devices = Json::array();
  for (const ReportDevice& device : report.devices) {
    Json entry = {{"label", device.label},
                  {"class", device.device_class},
                  {"driver", device.environment.driver},
                  {"compiler", device.environment.nvrtc_build},
                  {"protocol", device.environment.measuring_protocol},
                  {"fma_gflops", nullptr},
                  {"copy_gbps", nullptr}};
    if (device.rates) {
      entry["fma_gflops"] = device.rates->fma_gflops;
      entry["copy_gbps"] = device.rates->copy_gbps;
    }
    devices.push_back(std::move(entry));
  }
  return devices;
}

Json size_json(const ReportSize& size, const ReportDevice& device) {
  Json entry = {{"device", size.device},
                {"text", size.text},
                {"operations", size.work.operations},
                {"bytes", size.work.bytes},
                {"trials", size.trials.size()},
                {"correct", size.correct()},
                {"best", nullptr},
                {"cublas_us", nullptr},
                {"limit_gflops", nullptr},
                {"convergence", Json::array()}};
  if (size.best) {
    entry["best"] = {
        {"template", size.best->template_name}, {"configuration", size.best->configuration},
        {"median_us", size.best->median_us},    {"low_us", size.best->low_us},
        {"high_us", size.best->high_us},        {"gflops", gflops(size.work, size.best->median_us)},
        {"confirmed", size.best->confirmed}};
  }
  if (size.baseline) add_baseline(entry, *size.baseline);
  if (device.rates) entry["limit_gflops"] = size.limit(*device.rates);
  for (const auto& [trial, us] : size.convergence()) {
    entry["convergence"].push_back({trial, gflops(size.work, us)});
  }
  return entry;
}

Json templates_json(const ReportData& report) {
  Json templates = Json::array();
  for (const TemplateEffects& effects : parameter_effects(report)) {
    Json parameters = Json::array();
    for (const ParameterEffect& parameter : effects.parameters) {
      Json values = Json::array();
      for (const ValueEffect& value : parameter.values) {
        values.push_back({{"value", value.value},
                          {"trials", value.trials},
                          {"correct", value.correct},
                          {"best", value.best},
                          {"upper_quartile", value.upper_quartile},
                          {"median", value.median},
                          {"lower_quartile", value.lower_quartile}});
      }
      parameters.push_back({{"name", parameter.name},
                            {"importance", parameter.importance},
                            {"values", std::move(values)}});
    }
    templates.push_back({{"name", effects.template_name},
                         {"trials", effects.trials},
                         {"correct", effects.correct},
                         {"parameters", std::move(parameters)}});
  }
  return templates;
}

Json runs_json(const ReportData& report) {
  Json runs = Json::array();
  const std::size_t shown = std::min(report.runs.size(), kShownRuns);
  for (auto run = report.runs.end() - static_cast<std::ptrdiff_t>(shown); run != report.runs.end();
       ++run) {
    runs.push_back({{"started_at", run->info.started_at},
                    {"device", run->info.device_label},
                    {"uuid", run->info.device_uuid},
                    {"command", run->info.command},
                    {"trials", run->trials}});
  }
  return runs;
}

// The fastest trials, and evenly spaced ones of the others, in the order they were stored.
std::vector<std::size_t> shown_trials(const ReportSize& size, std::size_t most) {
  std::vector<std::size_t> places(size.trials.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
  const auto slowness = [&](std::size_t place) {
    const ReportTrial& trial = size.trials[place];
    return std::tuple(!trial.ok(), trial.median_us, place);
  };
  if (places.size() > 2 * most) {
    const auto rest = places.begin() + static_cast<std::ptrdiff_t>(most);
    std::nth_element(places.begin(), rest, places.end(),
                     [&](std::size_t a, std::size_t b) { return slowness(a) < slowness(b); });
    std::sort(rest, places.end());
    const std::size_t others = places.size() - most;
    for (std::size_t i = 0; i < most; ++i) places[most + i] = places[most + i * others / most];
    places.resize(2 * most);
  }
  std::ranges::sort(places);
  return places;
}

// Details are renumbered, since most are of trials left out.
class TrialRows {
 public:
  explicit TrialRows(const ReportData& report) : report_(report) {}

  void add(const ReportSize& size, std::size_t most) {
    rows_ += rows_.empty() ? "[" : ",[";
    const char* separator = "";
    for (const std::size_t place : shown_trials(size, most)) {
      rows_ += separator;
      add_row(place, size.trials[place]);
      separator = ",";
    }
    rows_ += "]";
  }

  [[nodiscard]] std::string text() const {
    return "{\"details\":" + json_line(details_) + ",\"rows\":[" + rows_ + "]}";
  }

 private:
  void add_row(std::size_t place, const ReportTrial& trial) {
    const auto [detail, is_new] = numbers_.try_emplace(trial.detail, details_.size());
    if (is_new) details_.push_back(report_.details[trial.detail]);
    const ReportSpace& space = report_.spaces[trial.space];
    fmt::format_to(std::back_inserter(rows_), "[{},{},{},{},{}", place + 1, trial.space,
                   static_cast<int>(trial.status), trial.median_us, detail->second);
    for (std::size_t i = 0; i < space.parameters.size(); ++i) {
      fmt::format_to(std::back_inserter(rows_), ",{}", space.value(trial.place, i));
    }
    rows_ += "]";
  }

  const ReportData& report_;
  std::string rows_;
  std::map<std::uint32_t, std::size_t> numbers_;
  Json details_ = Json::array();
};

std::string escaped(const std::string& json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json) {
    if (c == '<' || c == '>' || c == '&') {
      text += fmt::format("\\u{:04x}", static_cast<int>(c));
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

std::string report_json(const ReportData& report) {
  Json document = {{"version", kVersion},           {"database", report.database},
                   {"trials", report.trials},       {"devices", devices_json(report)},
                   {"sizes", Json::array()},        {"templates", templates_json(report)},
                   {"spaces", Json::array()},       {"statuses", Json::array()},
                   {"failures", Json::array()},     {"runs", runs_json(report)},
                   {"all_runs", report.runs.size()}};
  for (const ReportSize& size : report.sizes) {
    document["sizes"].push_back(size_json(size, report.devices[size.device]));
  }
  for (const ReportSpace& space : report.spaces) {
    document["spaces"].push_back(
        {{"template", space.template_name}, {"parameters", space.parameters}});
  }
  for (int status = 0; status <= static_cast<int>(TrialStatus::run_crashed); ++status) {
    document["statuses"].push_back(to_string(static_cast<TrialStatus>(status)));
  }
  for (const FailureCount& failure : count_failures(report)) {
    document["failures"].push_back({{"status", to_string(failure.status)},
                                    {"template", failure.template_name},
                                    {"count", failure.count},
                                    {"example", failure.example}});
  }
  return escaped(json_line(document));
}

std::string report_rows_json(const ReportData& report) {
  const std::size_t share = kAllShownTrials / 2 / std::max<std::size_t>(1, report.sizes.size());
  TrialRows rows(report);
  for (const ReportSize& size : report.sizes) {
    rows.add(size, std::clamp<std::size_t>(share, 1, kShownTrials));
  }
  return escaped(rows.text());
}

}  // namespace autotune
