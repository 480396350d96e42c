#include "db/tables/trial_table.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include <SQLiteCpp/VariadicBind.h>

#include "db/tables/columns.hpp"
#include "db/tables/problem_table.hpp"
#include "db/tables/provenance.hpp"

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
    const std::int64_t row = is_new ? select.getColumn("id").getInt64() : stored.row;
    stored = {scope.scope, run.info, std::move(*trial), row};
    stored.scope.environment.tool_version = run.tool_version;
  }
  return result;
}

// The rows of the table problem by number, without the damaged ones.
std::map<std::int64_t, Problem> problems_by_number(SQLite::Database& database,
                                                   const ResultFilter& filter) {
  SQLite::Statement select(database, "SELECT id, key FROM problem");
  std::map<std::int64_t, Problem> problems;
  while (select.executeStep()) {
    const std::optional<Problem> problem = problem_from(select.getColumn(1));
    if (!problem || (filter.problem != Problem() && filter.problem != *problem)) continue;
    if (!filter.operation.empty() && filter.operation != problem->operation()) continue;
    problems.emplace(select.getColumn(0).getInt64(), *problem);
  }
  return problems;
}

// The rows of the table run by number. Of a damaged one the guid alone is known: the hashes of its
// trials cover it.
std::map<std::int64_t, RunInfo> runs_by_number(SQLite::Database& database) {
  SQLite::Statement select(database, std::string("SELECT id, ") + kRunColumns + " FROM run");
  std::map<std::int64_t, RunInfo> runs;
  while (select.executeStep()) {
    const RunColumns guid_alone = {{.guid = select.getColumn("guid").getString()}, {}, {}};
    runs.emplace(select.getColumn(0).getInt64(), run_from(select).value_or(guid_alone).info);
  }
  return runs;
}

}  // namespace

TrialInsertion::TrialInsertion(SQLite::Database& database)
    : insert_(database,
              "INSERT INTO trial (scope, run, problem, configuration, status, detail, median_us,"
              " measurement, verification, resources, row_hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?,"
              " ?, ?, ?)") {}

void TrialInsertion::add(std::int64_t scope, std::int64_t run, std::int64_t problem,
                         const TrialColumns& columns, const std::string& hash) {
  SQLite::bind(insert_, scope, run, problem, columns.configuration, columns.status, columns.detail,
               columns.median_us, columns.measurement, columns.verification, columns.resources,
               hash);
  insert_.exec();
  insert_.reset();
}

void insert_trials(SQLite::Database& database, const TrialScope& scope, const RunInfo& run,
                   std::span<const Trial> trials) {
  const std::int64_t scope_id = make_scope(database, scope);
  const std::int64_t run_id =
      make_run(database, {run, scope.device_class, scope.environment.tool_version});
  TrialInsertion insertion(database);
  for (const Trial& trial : trials) {
    const TrialColumns columns = columns_of(trial);
    insertion.add(scope_id, run_id, make_problem(database, trial.problem), columns,
                  trial_hash(scope, run.guid, trial.problem, columns));
  }
}

std::vector<Trial> select_trials(SQLite::Database& database, std::span<const TrialScope> scopes,
                                 const Problem& problem) {
  const std::optional<std::int64_t> problem_id = find_problem(database, problem);
  if (!problem_id) return {};
  std::vector<StoredTrial> all;
  for (const TrialScope& scope : scopes) {
    const std::optional<std::int64_t> scope_id = find_scope(database, scope);
    if (!scope_id) continue;
    std::ranges::move(trials_of(database, {*scope_id, scope}, {*problem_id, problem}),
                      std::back_inserter(all));
  }
  std::ranges::stable_sort(all, {}, &StoredTrial::row);
  std::vector<Trial> result;
  for (StoredTrial& stored : all) result.push_back(std::move(stored.trial));
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

void visit_trials(SQLite::Database& database, const ResultFilter& filter,
                  const std::string& template_name,
                  const std::function<void(const TrialRow&)>& visit) {
  std::map<std::int64_t, TrialScope> scopes;
  for (StoredScope& scope : select_scopes(database, filter)) {
    if (!template_name.empty() && scope.scope.template_name != template_name) continue;
    scopes.emplace(scope.id, std::move(scope.scope));
  }
  const std::map<std::int64_t, Problem> problems = problems_by_number(database, filter);
  const std::map<std::int64_t, RunInfo> runs = runs_by_number(database);
  // The table from its begin to its end: seeks for a million rows would take longer.
  SQLite::Statement rows(database, "SELECT * FROM trial NOT INDEXED ORDER BY id");
  while (rows.executeStep()) {
    const auto scope = scopes.find(rows.getColumn("scope").getInt64());
    const auto problem = problems.find(rows.getColumn("problem").getInt64());
    const auto run = runs.find(rows.getColumn("run").getInt64());
    if (scope == scopes.end() || problem == problems.end() || run == runs.end()) continue;
    unless_damaged([&]() -> std::optional<bool> {
      const auto columns = sound_columns_of(rows, scope->second, run->second.guid, problem->second);
      if (!columns) return std::nullopt;
      visit({.row = rows.getColumn("id").getInt64(),
             .scope = scope->second,
             .run = run->second,
             .problem = problem->second,
             .configuration = columns->configuration,
             .status = trial_status_from_string(columns->status),
             .detail = columns->detail,
             .median_us = columns->median_us});
      return true;
    });
  }
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
