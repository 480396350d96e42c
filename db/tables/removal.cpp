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

// The rows of problems, of which keys that cannot be read are none.
std::vector<std::int64_t> problems_where(
    SQLite::Database& database, const std::function<bool(const std::optional<Problem>&)>& holds) {
  SQLite::Statement select(database, "SELECT id, key FROM problem");
  std::vector<std::int64_t> rows;
  while (select.executeStep()) {
    if (holds(problem_from(select.getColumn(1)))) rows.push_back(select.getColumn(0));
  }
  return rows;
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
                            const std::function<bool(const Problem&)>& is_known,
                            const std::function<bool(const Problem&)>& is_foreign) {
  RemovedCounts counts;
  const std::vector<std::int64_t> unknown =
      problems_where(database, [&](const std::optional<Problem>& problem) {
        return !problem || (!is_known(*problem) && !is_foreign(*problem));
      });
  std::string foreign = "[";
  for (const std::int64_t problem :
       problems_where(database, [&](const std::optional<Problem>& problem) {
         return problem && is_foreign(*problem);
       })) {
    foreign += (foreign.size() > 1 ? "," : "") + std::to_string(problem);
  }
  foreign += "]";
  for (const std::int64_t problem : unknown) {
    counts.trials += count_changes(database, "DELETE FROM trial WHERE problem = ?", problem);
    counts.winners += count_changes(database, "DELETE FROM winner WHERE problem = ?", problem);
  }
  for (const StoredScope& scope : select_scopes(database, {})) {
    if (!is_current(scope.scope)) {
      counts.trials += count_changes(database,
                                     "DELETE FROM trial WHERE scope = ? AND problem NOT IN"
                                     " (SELECT value FROM json_each(?))",
                                     scope.id, foreign);
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
