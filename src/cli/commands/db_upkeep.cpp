#include "cli/commands/db_upkeep.hpp"

#include <filesystem>
#include <map>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autotune/error.hpp"

#include "cli/exit_codes.hpp"
#include "cli/gemm_output.hpp"
#include "cli/options/tuning_setup.hpp"
#include "cli/output/problem_text.hpp"
#include "cli/output/results_json.hpp"
#include "cli/output/table.hpp"
#include "cli/output/terminal.hpp"
#include "cli/output/top_trials.hpp"
#include "core/hash.hpp"
#include "kernel_templates/kernel_set.hpp"

namespace autotune {
namespace {

ResultFilter filter_of(const DbOptions& options, const TuningDatabase& database) {
  return {.device_label = device_named(options, &database).label};
}

ResultKey key_of(const ResultSummary& summary) {
  return {summary.scope.device_class, summary.problem, summary.scope.template_name};
}

// What the options choose, by scope and problem. A winner alone, as after a merge of winners, has 0
// trials.
std::vector<ResultSummary> chosen_summaries(const DbOptions& options,
                                            const TuningDatabase& database) {
  const ResultFilter filter = filter_of(options, database);
  std::vector<ResultSummary> summaries = database.summaries(filter, options.template_name);
  std::set<ResultKey> with_trials;
  for (const ResultSummary& each : summaries) with_trials.insert(key_of(each));
  for (const Winner& winner : database.winners(filter)) {
    ResultSummary alone{.scope = {.device_class = winner.device_class,
                                  .template_name = winner.template_name,
                                  .environment = winner.environment},
                        .device_label = winner.device_label,
                        .problem = winner.problem};
    const bool is_of_template =
        options.template_name.empty() || options.template_name == winner.template_name;
    if (is_of_template && !with_trials.contains(key_of(alone))) summaries.push_back(alone);
  }
  std::erase_if(summaries,
                [&](const ResultSummary& each) { return !options.selects(each.problem); });
  return summaries;
}

nlohmann::ordered_json list_document(const std::vector<ResultSummary>& summaries) {
  nlohmann::ordered_json document = {
      {"schema", 1}, {"command", "db list"}, {"results", nlohmann::ordered_json::array()}};
  for (const ResultSummary& each : summaries) {
    nlohmann::ordered_json entry = {{"device", each.device_label},
                                    {"driver", each.scope.environment.driver}};
    entry.update(problem_json(each.problem));
    entry["template"] = each.scope.template_name;
    entry["trials"] = each.trials;
    entry["correct"] = each.correct;
    entry["median_us"] = nullptr;
    if (each.best_us > 0) entry["median_us"] = each.best_us;
    document["results"].push_back(std::move(entry));
  }
  return document;
}

// The results that rm removes, each with the number of its trials.
std::map<ResultKey, std::int64_t> chosen_results(const DbOptions& options,
                                                 const TuningDatabase& database) {
  std::map<ResultKey, std::int64_t> results;
  for (const ResultSummary& each : chosen_summaries(options, database)) {
    results[key_of(each)] += each.trials;
  }
  return results;
}

bool is_current(const KernelSet& kernels, const TrialScope& scope) {
  const KernelTemplate* const kernel = kernels.find(scope.template_name);
  return kernel != nullptr && kernel->space_version == scope.space_version &&
         content_hash(kernel->source) == scope.source_hash;
}

std::string text_of(const RemovedCounts& counts) {
  return counted(counts.trials, "trial") + ", " + counted(counts.winners, "winner");
}

}  // namespace

int run_db_list(const DbOptions& options) {
  const TuningDatabase database = existing_database(options.database);
  const std::vector<ResultSummary> summaries = chosen_summaries(options, database);
  if (options.json) {
    print_document(list_document(summaries));
    if (!summaries.empty()) return exit_code::kDone;
  }
  if (summaries.empty()) return nothing_matches(options.kernels(), options.template_name, database);
  RateColumn rates;
  TimeColumn times;
  for (const ResultSummary& each : summaries) {
    rates.add(rate_of(options.kernels(), each.problem, each.best_us));
    times.add(each.best_us);
  }
  Table table({"device", "size", "math", "template", "trials", "correct", times.title("best"),
               rates.title()});
  for (const ResultSummary& each : summaries) {
    const double rate = rate_of(options.kernels(), each.problem, each.best_us);
    table.add({each.device_label, size_text(options.kernels(), each.problem),
               math_text(each.problem), each.scope.template_name, std::to_string(each.trials),
               std::to_string(each.correct), each.best_us > 0 ? times.text(each.best_us) : "-",
               rate > 0 ? rates.text(rate) : "-"});
  }
  fmt::print("{}", table.text(output_columns()));
  return exit_code::kDone;
}

int run_db_top(const DbOptions& options) {
  const TuningDatabase database = existing_database(options.database);
  const std::vector<StoredTrial> trials =
      top_trials(options, database, filter_of(options, database), options.template_name,
                 static_cast<std::size_t>(options.top));
  if (trials.empty()) return nothing_matches(options.kernels(), options.template_name, database);
  print_top_trials(options, trials, "db top");
  return exit_code::kDone;
}

int run_db_remove(const DbOptions& options) {
  const bool chooses =
      !options.device.empty() || !options.template_name.empty() || options.choose_problems();
  if (chooses == options.all) {
    throw UsageError(
        "say what to remove: --device, --sizes, --template and others choose, --all is everything");
  }
  TuningDatabase database = existing_database(options.database);
  const std::map<ResultKey, std::int64_t> chosen = chosen_results(options, database);
  const DatabaseStats stats = database.stats();
  const bool has_rows = stats.trials + stats.winners > 0;
  if (chosen.empty() && !(options.all && has_rows)) {
    return nothing_matches(options.kernels(), options.template_name, database);
  }
  if (options.dry_run) {
    Table table({"class of device", "size", "math", "template", "trials"});
    for (const auto& [result, trials] : chosen) {
      table.add({result.device_class, size_text(options.kernels(), result.problem),
                 math_text(result.problem), result.template_name, std::to_string(trials)});
    }
    fmt::print("{}", table.text(output_columns()));
    return exit_code::kDone;
  }
  std::vector<ResultKey> results;
  for (const auto& [result, trials] : chosen) results.push_back(result);
  database = TuningDatabase::open(database.path());
  const RemovedCounts counts = options.all ? database.remove_all() : database.remove(results);
  fmt::print("{} removed\n", text_of(counts));
  return exit_code::kDone;
}

int run_db_prune(const DbOptions& options) {
  const std::filesystem::path path = existing_database(options.database).path();
  TuningDatabase database = TuningDatabase::open(path);
  const std::int64_t before = database.stats().bytes;
  const RemovedCounts counts = database.prune(
      [&](const TrialScope& scope) { return is_current(options.kernels(), scope); },
      [&](const Problem& problem) { return options.kernels().operation_of(problem) != nullptr; },
      // Results of a kernel of the user's own are not for another program to judge.
      [&](const Problem& problem) {
        return std::ranges::none_of(options.kernels().templates(),
                                    [&](const KernelTemplate& kernel) {
                                      return kernel.operation->name == problem.operation();
                                    });
      });
  database.shrink();
  fmt::print("{} removed, {} of {} bytes given back\n", text_of(counts),
             before - database.stats().bytes, before);
  return exit_code::kDone;
}

}  // namespace autotune
