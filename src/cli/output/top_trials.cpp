#include "cli/output/top_trials.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/options/configuration_choice.hpp"
#include "cli/output/results_json.hpp"
#include "cli/output/table.hpp"
#include "cli/output/terminal.hpp"
#include "operation/gemm/gemm.hpp"

namespace autotune {
namespace {

double rate_of(const StoredTrial& stored) {
  return gflops(gemm_problem(stored.trial.problem), stored.trial.measurement.median_us);
}

Table top_table(const KernelSet& kernels, const std::vector<StoredTrial>& trials, bool wide) {
  RateColumn rates;
  TimeColumn times;
  for (const StoredTrial& stored : trials) {
    rates.add(rate_of(stored));
    times.add(stored.trial.measurement.median_us);
  }
  Table table({"device", "size", "math", times.title("search"), rates.title(), "template",
               "configuration"});
  for (const StoredTrial& stored : trials) {
    const GemmProblem problem = gemm_problem(stored.trial.problem);
    table.add({stored.run.device_label, to_string(problem), to_string(problem.math),
               times.text(stored.trial.measurement.median_us), rates.text(rate_of(stored)),
               stored.scope.template_name,
               configuration_text(kernels.find(stored.scope.template_name),
                                  stored.trial.configuration, problem, wide)});
  }
  return table;
}

nlohmann::ordered_json top_document(const KernelSet& kernels,
                                    const std::vector<StoredTrial>& trials,
                                    const std::string& command) {
  const std::string label = trials.empty() ? "" : trials.front().run.device_label;
  nlohmann::ordered_json document = results_document(command, nullptr, label);
  for (const StoredTrial& stored : trials) {
    auto entry = result_entry(stored.trial, kernels.find(stored.scope.template_name));
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
  filter.operation = kGemm;
  std::vector<StoredTrial> trials;
  const auto add = [&] {
    for (StoredTrial& each : database.fastest_trials(filter, template_name, count)) {
      trials.push_back(std::move(each));
    }
  };
  for (GemmProblem problem : options.problems()) {
    for (const Math math : options.maths()) {
      problem.math = math;
      filter.problem = problem;
      add();
    }
  }
  if (options.sizes.empty()) {
    add();
    std::erase_if(trials, [&](const StoredTrial& stored) {
      const std::optional<GemmProblem> gemm = if_gemm(stored.trial.problem);
      return !gemm || !options.selects(*gemm);
    });
  }
  // One list for each device and problem, of all templates and environments.
  const auto group = [](const StoredTrial& stored) {
    return std::tie(stored.scope.device_class, stored.trial.problem);
  };
  std::stable_sort(trials.begin(), trials.end(), [&](const StoredTrial& a, const StoredTrial& b) {
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
