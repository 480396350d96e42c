#include "db/tables/trial_table.hpp"

#include <map>
#include <optional>
#include <utility>

#include "db/tables/problem_table.hpp"
#include "db/tables/provenance.hpp"
#include "db/tables/trial_row.hpp"

namespace autotune {
namespace {

// In the order they were stored; of several trials of one configuration the last.
std::vector<StoredTrial> trials_of(SQLite::Database& database, const StoredScope& scope,
                                   const StoredProblem& problem) {
  SQLite::Statement select(database,
                           std::string("SELECT trial.*, ") + kRunColumns +
                               " FROM trial JOIN run ON run.id = trial.run WHERE scope = :scope AND"
                               " problem = :problem ORDER BY trial.id");
  select.bind(":scope", scope.id);
  select.bind(":problem", problem.id);
  std::vector<StoredTrial> result;
  std::map<Configuration, std::size_t> places;
  while (select.executeStep()) {
    std::optional<Trial> trial = trial_from(select, scope.scope, problem.problem);
    if (!trial) continue;
    const auto [place, is_new] = places.try_emplace(trial->configuration, result.size());
    if (is_new) result.emplace_back();
    const RunColumns run = run_from(select).value_or(RunColumns());
    StoredTrial& stored = result[place->second];
    stored = {scope.scope, run.info, std::move(*trial)};
    stored.scope.environment.tool_version = run.tool_version;
  }
  return result;
}

}  // namespace

void insert_trials(SQLite::Database& database, const TrialScope& scope, const RunInfo& run,
                   std::span<const Trial> trials) {
  const std::int64_t scope_id = make_scope(database, scope);
  const std::int64_t run_id =
      make_run(database, {run, scope.device_class, scope.environment.tool_version});
  SQLite::Statement insert(
      database,
      "INSERT INTO trial (scope, run, problem, configuration, status, detail, median_us,"
      " measurement, verification, resources, row_hash) VALUES (:scope, :run, :problem,"
      " :configuration, :status, :detail, :median_us, :measurement, :verification, :resources,"
      " :row_hash)");
  insert.bind(":scope", scope_id);
  insert.bind(":run", run_id);
  for (const Trial& trial : trials) {
    const TrialColumns columns = columns_of(trial);
    insert.bind(":problem", make_problem(database, trial.problem));
    insert.bind(":configuration", columns.configuration);
    insert.bind(":status", columns.status);
    insert.bind(":detail", columns.detail);
    insert.bind(":median_us", columns.median_us);
    insert.bind(":measurement", columns.measurement);
    insert.bind(":verification", columns.verification);
    insert.bind(":resources", columns.resources);
    insert.bind(":row_hash", trial_hash(scope, run.guid, trial.problem, columns));
    insert.exec();
    insert.reset();
  }
}

std::vector<Trial> select_trials(SQLite::Database& database, const TrialScope& scope,
                                 const Problem& problem) {
  const std::optional<std::int64_t> scope_id = find_scope(database, scope);
  const std::optional<std::int64_t> problem_id = find_problem(database, problem);
  if (!scope_id || !problem_id) return {};
  std::vector<Trial> result;
  for (StoredTrial& stored : trials_of(database, {*scope_id, scope}, {*problem_id, problem})) {
    result.push_back(std::move(stored.trial));
  }
  return result;
}

std::vector<StoredTrial> select_all_trials(SQLite::Database& database, const ResultFilter& filter,
                                           const std::string& template_name) {
  std::vector<StoredTrial> result;
  for (const StoredScope& scope : select_scopes(database, filter)) {
    if (!template_name.empty() && scope.scope.template_name != template_name) continue;
    for (const StoredProblem& problem : problems_of_scope(database, scope.id, filter)) {
      for (StoredTrial& stored : trials_of(database, scope, problem)) {
        result.push_back(std::move(stored));
      }
    }
  }
  return result;
}

std::vector<Trial> select_trials_after(SQLite::Database& database, std::int64_t& row,
                                       const TrialScope& scope, const std::string& own_guid) {
  const std::int64_t last = select_last_trial(database);
  const std::optional<std::int64_t> scope_id = find_scope(database, scope);
  if (!scope_id) {
    row = last;
    return {};
  }
  // The plus sign keeps SQLite from an index, in which it would go through all of the scope.
  SQLite::Statement select(
      database,
      "SELECT trial.*, guid, problem.key AS problem_key FROM trial JOIN run ON run.id = trial.run"
      " JOIN problem ON problem.id = trial.problem WHERE trial.id > :row AND trial.id <= :last AND"
      " +scope = :scope AND guid <> :own_guid ORDER BY trial.id");
  select.bind(":row", row);
  select.bind(":last", last);
  select.bind(":scope", *scope_id);
  select.bind(":own_guid", own_guid);
  std::vector<Trial> result;
  while (select.executeStep()) {
    const std::optional<Problem> problem = problem_from(select.getColumn("problem_key"));
    if (!problem) continue;
    if (std::optional<Trial> trial = trial_from(select, scope, *problem)) {
      result.push_back(std::move(*trial));
    }
  }
  row = last;
  return result;
}

std::int64_t select_last_trial(SQLite::Database& database) {
  return database.execAndGet("SELECT COALESCE(MAX(id), 0) FROM trial").getInt64();
}

}  // namespace autotune
