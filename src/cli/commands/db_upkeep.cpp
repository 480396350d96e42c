#include "cli/commands/db_upkeep.hpp"

#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autotune/error.hpp"

#include "cli/exit_codes.hpp"
#include "cli/options/tuning_setup.hpp"
#include "cli/output/results_json.hpp"
#include "cli/output/table.hpp"
#include "cli/output/terminal.hpp"
#include "cli/output/top_trials.hpp"
#include "core/hash.hpp"
#include "kernel_templates/kernel_registry.hpp"
#include "operation/gemm/gemm.hpp"

namespace autotune {
namespace {

ResultFilter filter_of(const DbOptions& options, const TuningDatabase& database) {
  return {.device_label = device_named(options, &database).label, .operation = kGemm};
}

std::vector<ResultSummary> chosen_summaries(const DbOptions& options,
                                            const TuningDatabase& database) {
  std::vector<ResultSummary> summaries =
      database.summaries(filter_of(options, database), options.template_name);
  std::erase_if(summaries, [&](const ResultSummary& each) {
    return !options.selects(gemm_problem(each.problem));
  });
  return summaries;
}

nlohmann::ordered_json list_document(const std::vector<ResultSummary>& summaries) {
  nlohmann::ordered_json document = {
      {"schema", 1}, {"command", "db list"}, {"results", nlohmann::ordered_json::array()}};
  for (const ResultSummary& each : summaries) {
    const GemmProblem problem = gemm_problem(each.problem);
    nlohmann::ordered_json entry = {{"device", each.device_label},
                                    {"driver", each.scope.environment.driver}};
    entry.update(problem_json(problem));
    entry["template"] = each.scope.template_name;
    entry["trials"] = each.trials;
    entry["correct"] = each.correct;
    entry["median_us"] = nullptr;
    if (each.best_us > 0) entry["median_us"] = each.best_us;
    document["results"].push_back(std::move(entry));
  }
  return document;
}

// The results that rm removes, each with the number of its trials. A winner alone, as after a merge
// of winners, has 0.
std::map<ResultKey, std::int64_t> chosen_results(const DbOptions& options,
                                                 const TuningDatabase& database) {
  std::map<ResultKey, std::int64_t> results;
  for (const ResultSummary& each : chosen_summaries(options, database)) {
    results[{each.scope.device_class, each.problem, each.scope.template_name}] += each.trials;
  }
  for (const Winner& winner : database.winners(filter_of(options, database))) {
    const bool is_of_template =
        options.template_name.empty() || options.template_name == winner.template_name;
    if (is_of_template && options.selects(gemm_problem(winner.problem))) {
      results.try_emplace({winner.device_class, winner.problem, winner.template_name});
    }
  }
  return results;
}

bool is_current(const TrialScope& scope) {
  const KernelTemplate* const kernel = built_in_kernels().find(scope.template_name);
  return kernel != nullptr && kernel->space_version == scope.space_version &&
         content_hash(kernel->source) == scope.source_hash;
}

}  // namespace

int run_db_list(const DbOptions& options) {
  const TuningDatabase database = existing_database(options.database);
  const std::vector<ResultSummary> summaries = chosen_summaries(options, database);
  if (options.json) {
    print_document(list_document(summaries));
    if (!summaries.empty()) return exit_code::kDone;
  }
  if (summaries.empty()) return nothing_matches(options.template_name, database);
  RateColumn rates;
  const auto rate = [](const ResultSummary& each) {
    return gflops(gemm_problem(each.problem), each.best_us);
  };
  for (const ResultSummary& each : summaries) {
    if (each.best_us > 0) rates.add(rate(each));
  }
  Table table(
      {"device", "size", "math", "template", "trials", "correct", "best us", rates.title()});
  for (const ResultSummary& each : summaries) {
    const bool any = each.best_us > 0;
    const GemmProblem problem = gemm_problem(each.problem);
    table.add({each.device_label, to_string(problem), to_string(problem.math),
               each.scope.template_name, std::to_string(each.trials), std::to_string(each.correct),
               any ? fmt::format("{:.1f}", each.best_us) : "-",
               any ? rates.text(rate(each)) : "-"});
  }
  fmt::print("{}", table.text(output_columns()));
  return exit_code::kDone;
}

int run_db_top(const DbOptions& options) {
  const TuningDatabase database = existing_database(options.database);
  const std::vector<StoredTrial> trials =
      top_trials(options, database, filter_of(options, database), options.template_name,
                 static_cast<std::size_t>(options.top));
  if (trials.empty()) return nothing_matches(options.template_name, database);
  print_top_trials(options, trials, "db top");
  return exit_code::kDone;
}

int run_db_remove(const DbOptions& options) {
  const bool chooses = !options.device.empty() || !options.sizes.empty() ||
                       !options.template_name.empty() || options.layout || options.batch ||
                       options.math;
  if (chooses == options.all) {
    throw UsageError(
        "say what to remove: --device, --sizes, --template and others choose, --all is everything");
  }
  TuningDatabase database = existing_database(options.database);
  const std::map<ResultKey, std::int64_t> chosen = chosen_results(options, database);
  if (chosen.empty()) return nothing_matches(options.template_name, database);
  if (options.dry_run) {
    Table table({"class of device", "size", "math", "template", "trials"});
    for (const auto& [result, trials] : chosen) {
      const GemmProblem problem = gemm_problem(result.problem);
      table.add({result.device_class, to_string(problem), to_string(problem.math),
                 result.template_name, std::to_string(trials)});
    }
    fmt::print("{}", table.text(output_columns()));
    return exit_code::kDone;
  }
  std::vector<ResultKey> results;
  for (const auto& [result, trials] : chosen) results.push_back(result);
  database = TuningDatabase::open(database.path());
  const RemovedCounts counts = database.remove(results);
  fmt::print("{}, {} removed\n", counted(counts.trials, "trial"),
             counted(counts.winners, "winner"));
  return exit_code::kDone;
}

int run_db_prune(const DbOptions& options) {
  const std::filesystem::path path = existing_database(options.database).path();
  TuningDatabase database = TuningDatabase::open(path);
  const std::int64_t before = database.stats().bytes;
  const RemovedCounts counts = database.prune(is_current);
  database.shrink();
  fmt::print("{} removed, {} of {} bytes given back\n", counted(counts.trials, "trial"),
             before - database.stats().bytes, before);
  return exit_code::kDone;
}

}  // namespace autotune
