#include "db/tables/removal.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <SQLiteCpp/VariadicBind.h>

#include "db/tables/problem_table.hpp"
#include "db/tables/provenance.hpp"
#include "db/tables/trial_row.hpp"

namespace autotune {
namespace {

template <typename... Values>
std::int64_t count_changes(SQLite::Database& database, const char* text, const Values&... values) {
  SQLite::Statement statement(database, text);
  SQLite::bind(statement, values...);
  return statement.exec();
}

// The rows of problems that are not known, or whose keys are none.
std::vector<std::int64_t> unknown_problems(SQLite::Database& database,
                                           const std::function<bool(const Problem&)>& is_known) {
  SQLite::Statement select(database, "SELECT id, key FROM problem");
  std::vector<std::int64_t> unknown;
  while (select.executeStep()) {
    const std::optional<Problem> problem = problem_from(select.getColumn(1));
    if (!problem || !is_known(*problem)) unknown.push_back(select.getColumn(0));
  }
  return unknown;
}

// The trials of a scope that cannot be read, and those that were made again. Only a trial that can
// be read takes the place of another.
std::vector<std::int64_t> needless_trials(SQLite::Database& database, const StoredScope& scope) {
  SQLite::Statement select(database,
                           "SELECT trial.*, guid FROM trial LEFT JOIN run ON run.id = trial.run"
                           " WHERE scope = ? AND problem = ? ORDER BY trial.id DESC");
  std::vector<std::int64_t> needless;
  for (const auto& [problem_id, problem] : problems_of_scope(database, scope.id, {})) {
    select.reset();
    SQLite::bind(select, scope.id, problem_id);
    std::set<Configuration> known;
    while (select.executeStep()) {
      const std::optional<Trial> trial = trial_from(select, scope.scope, problem);
      const bool is_needed = trial && known.insert(trial->configuration).second;
      if (!is_needed) needless.push_back(select.getColumn("id"));
    }
  }
  return needless;
}

void remove_unused_rows(SQLite::Database& database) {
  database.exec(
      "DELETE FROM run WHERE id NOT IN (SELECT run FROM trial) AND guid NOT IN"
      " (SELECT json_extract(body, '$.run') FROM winner"
      "  WHERE json_valid(body) AND json_extract(body, '$.run') IS NOT NULL);"
      "DELETE FROM scope WHERE id NOT IN (SELECT scope FROM trial);"
      "DELETE FROM problem WHERE id NOT IN (SELECT problem FROM trial)"
      " AND id NOT IN (SELECT problem FROM winner)");
}

}  // namespace

RemovedCounts remove_results(SQLite::Database& database, std::span<const ResultKey> results) {
  RemovedCounts counts;
  for (const ResultKey& result : results) {
    const std::optional<std::int64_t> problem = find_problem(database, result.problem);
    if (!problem) continue;
    counts.trials +=
        count_changes(database,
                      "DELETE FROM trial WHERE problem = ? AND scope IN (SELECT id FROM scope WHERE"
                      " device_class = ? AND template = ?)",
                      *problem, result.device_class, result.template_name);
    counts.winners += count_changes(
        database, "DELETE FROM winner WHERE problem = ? AND device_class = ? AND template = ?",
        *problem, result.device_class, result.template_name);
    // Or the next search would take the template for searched.
    const std::string request =
        result.device_class + "|" + result.problem.key() + "|" + result.template_name + "/";
    count_changes(database, "DELETE FROM completed WHERE substr(key, 1, length(?1)) = ?1", request);
  }
  remove_unused_rows(database);
  return counts;
}

RemovedCounts remove_all_results(SQLite::Database& database) {
  const RemovedCounts counts = {.trials = count_changes(database, "DELETE FROM trial"),
                                .winners = count_changes(database, "DELETE FROM winner")};
  database.exec("DELETE FROM completed");
  remove_unused_rows(database);
  return counts;
}

RemovedCounts prune_results(SQLite::Database& database,
                            const std::function<bool(const TrialScope&)>& is_current,
                            const std::function<bool(const Problem&)>& is_known) {
  RemovedCounts counts;
  for (const std::int64_t problem : unknown_problems(database, is_known)) {
    counts.trials += count_changes(database, "DELETE FROM trial WHERE problem = ?", problem);
    counts.winners += count_changes(database, "DELETE FROM winner WHERE problem = ?", problem);
  }
  for (const StoredScope& scope : select_scopes(database, {})) {
    if (!is_current(scope.scope)) {
      counts.trials += count_changes(database, "DELETE FROM trial WHERE scope = ?", scope.id);
      continue;
    }
    for (const std::int64_t trial : needless_trials(database, scope)) {
      counts.trials += count_changes(database, "DELETE FROM trial WHERE id = ?", trial);
    }
  }
  remove_unused_rows(database);
  return counts;
}

}  // namespace autotune
