#include "cli/output/top_trials.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/gemm_output.hpp"
#include "cli/options/configuration_choice.hpp"
#include "cli/output/problem_text.hpp"
#include "cli/output/results_json.hpp"
#include "cli/output/table.hpp"
#include "cli/output/terminal.hpp"

namespace autotune {
namespace {

Table top_table(const KernelSet& kernels, const std::vector<StoredTrial>& trials, bool wide) {
  RateColumn rates;
  TimeColumn times;
  for (const StoredTrial& stored : trials) {
    const Trial& trial = stored.trial;
    rates.add(rate_of(kernels, trial.problem, trial.measurement.median_us));
    times.add(trial.measurement.median_us);
  }
  Table table({"device", "size", "math", times.title("search"), rates.title(), "template",
               "configuration"});
  for (const StoredTrial& stored : trials) {
    const Trial& trial = stored.trial;
    const double us = trial.measurement.median_us;
    const std::string& name = stored.scope.template_name;
    table.add({stored.run.device_label, size_text(kernels, trial.problem), math_text(trial.problem),
               times.text(us), rates.text(rate_of(kernels, trial.problem, us)), name,
               configuration_text(kernels.find(name), trial.configuration, trial.problem, wide)});
  }
  return table;
}

nlohmann::ordered_json top_document(const KernelSet& kernels,
                                    const std::vector<StoredTrial>& trials,
                                    const std::string& command) {
  const std::string label = trials.empty() ? "" : trials.front().run.device_label;
  nlohmann::ordered_json document = results_document(command, nullptr, label);
  for (const StoredTrial& stored : trials) {
    auto entry = result_entry(kernels, stored.trial);
    entry["device"] = stored.run.device_label;
    entry["driver"] = stored.scope.environment.driver;
    entry["measured_at"] = stored.run.started_at;
    document["results"].push_back(std::move(entry));
  }
  if (command == "query") {
    document["known"] = trials.size();
  } else {  // they count what a run measured and what a query knows
    document.erase("measured");
    document.erase("known");
  }
  return document;
}

}  // namespace

std::vector<StoredTrial> top_trials(const Options& options, const TuningDatabase& database,
                                    const ResultFilter& device, const std::string& template_name,
                                    std::size_t count) {
  ResultFilter filter = device;
  std::vector<StoredTrial> trials;
  const auto add = [&] {
    for (StoredTrial& each : database.fastest_trials(filter, template_name, count)) {
      trials.push_back(std::move(each));
    }
  };
  for (const Problem& problem : options.problems()) {
    for (Problem& each : in_maths(problem, options.maths())) {
      filter.problem = std::move(each);
      add();
    }
  }
  if (options.sizes.empty()) {
    add();
    std::erase_if(trials,
                  [&](const StoredTrial& stored) { return !options.lists(stored.trial.problem); });
  }
  // One list for each device and problem, of all templates and environments.
  const auto group = [](const StoredTrial& stored) {
    return std::tie(stored.scope.device_class, stored.trial.problem);
  };
  std::ranges::stable_sort(trials, [&](const StoredTrial& a, const StoredTrial& b) {
    return std::tuple_cat(group(a), std::tie(a.trial.measurement.median_us)) <
           std::tuple_cat(group(b), std::tie(b.trial.measurement.median_us));
  });
  std::map<std::pair<std::string, Problem>, std::size_t> counts;
  std::erase_if(trials, [&](const StoredTrial& stored) {
    return ++counts[{stored.scope.device_class, stored.trial.problem}] > count;
  });
  return trials;
}

void print_top_trials(const Options& options, const std::vector<StoredTrial>& trials,
                      const std::string& command) {
  if (options.json) {
    print_document(top_document(options.kernels(), trials, command));
  } else if (options.csv) {
    fmt::print("{}", results_csv(top_document(options.kernels(), trials, command)));
  } else {
    fmt::print("{}", top_table(options.kernels(), trials, options.wide).text(output_columns()));
  }
}

}  // namespace autotune
