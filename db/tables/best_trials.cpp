#include "db/tables/best_trials.hpp"

#include <optional>
#include <set>
#include <utility>

#include "db/tables/problem_table.hpp"
#include "db/tables/provenance.hpp"
#include "db/tables/rates_table.hpp"
#include "db/tables/trial_row.hpp"

namespace autotune {
namespace {

Winner unconfirmed(StoredTrial&& stored) {
  Winner winner;
  winner.device_class = stored.scope.device_class;
  winner.device_label = stored.run.device_label;
  winner.problem = stored.trial.problem;
  winner.template_name = stored.scope.template_name;
  winner.space_version = stored.scope.space_version;
  winner.source_hash = stored.scope.source_hash;
  winner.environment = stored.scope.environment;
  winner.configuration = stored.trial.configuration;
  winner.median_us = winner.low_us = winner.high_us = stored.trial.measurement.median_us;
  winner.verification = stored.trial.verification;
  winner.resources = stored.trial.resources;
  winner.measured_at = stored.run.started_at;
  winner.run = stored.run.guid;
  winner.run_row = stored.run_row;
  return winner;
}

// Adds the first rows of a query for a scope and a problem that are not damaged, are accurate
// enough and have a possible time.
void add_first(SQLite::Statement& fastest, const TrialScope& scope, const Problem& problem,
               const ResultFilter& filter, const std::optional<DeviceRates>& rates,
               std::size_t count, std::vector<StoredTrial>& result) {
  std::set<Configuration> known;
  const auto is_possible = [&](const Trial& trial) {
    return !filter.is_possible ||
           filter.is_possible(scope.template_name, problem, trial.measurement.median_us, rates);
  };
  while (known.size() < count && fastest.executeStep()) {
    std::optional<Trial> trial = trial_from(fastest, scope, problem);
    const std::optional<RunColumns> run = run_from(fastest);
    if (trial && filter.max_error && !trial->verification.keeps_to(*filter.max_error)) continue;
    if (trial && !is_possible(*trial)) continue;
    if (!trial || !run || !known.insert(trial->configuration).second) continue;
    result.push_back({.scope = scope,
                      .run = run->info,
                      .trial = *std::move(trial),
                      .run_row = fastest.getColumn("run").getInt64()});
    result.back().scope.environment.tool_version = run->tool_version;
  }
}

}  // namespace

std::vector<StoredTrial> select_fastest_trials(SQLite::Database& database,
                                               const ResultFilter& filter,
                                               const std::string& template_name,
                                               std::size_t count) {
  // One seek in the index trial_by_problem, which has the fastest first.
  SQLite::Statement fastest(database,
                            std::string("SELECT trial.*, ") + kRunColumns +
                                " FROM trial JOIN run ON run.id = trial.run WHERE scope = :scope"
                                " AND problem = :problem AND status = 'ok' AND median_us > 0"
                                " ORDER BY median_us");
  std::vector<StoredTrial> result;
  for (const auto& [scope_id, scope] : select_scopes(database, filter)) {
    if (!template_name.empty() && scope.template_name != template_name) continue;
    const auto rates = select_rates(database, scope.device_class, scope.environment);
    for (const auto& [problem_id, problem] : problems_of_scope(database, scope_id, filter)) {
      fastest.reset();
      fastest.bind(":scope", scope_id);
      fastest.bind(":problem", problem_id);
      add_first(fastest, scope, problem, filter, rates, count, result);
    }
  }
  return result;
}

std::vector<Winner> select_best_trials(SQLite::Database& database, const ResultFilter& filter) {
  std::vector<Winner> result;
  for (StoredTrial& best : select_fastest_trials(database, filter, "", 1)) {
    result.push_back(unconfirmed(std::move(best)));
  }
  return result;
}

}  // namespace autotune
