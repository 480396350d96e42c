#include "db/tables/removal.hpp"

#include <optional>
#include <string>

#include <SQLiteCpp/VariadicBind.h>

#include "db/tables/problem_table.hpp"
#include "db/tables/provenance.hpp"

namespace autotune {
namespace {

template <typename... Values>
std::int64_t count_changes(SQLite::Database& database, const char* text, const Values&... values) {
  SQLite::Statement statement(database, text);
  SQLite::bind(statement, values...);
  return statement.exec();
}

void remove_unused_rows(SQLite::Database& database) {
  database.exec(
      "DELETE FROM run WHERE id NOT IN (SELECT run FROM trial);"
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

RemovedCounts prune_trials(SQLite::Database& database,
                           const std::function<bool(const TrialScope&)>& is_current) {
  RemovedCounts counts;
  for (const StoredScope& scope : select_scopes(database, {})) {
    if (is_current(scope.scope)) continue;
    counts.trials += count_changes(database, "DELETE FROM trial WHERE scope = ?", scope.id);
  }
  counts.trials += count_changes(
      database,
      "DELETE FROM trial WHERE id NOT IN (SELECT MAX(id) FROM trial GROUP BY scope, problem,"
      " configuration)");
  remove_unused_rows(database);
  return counts;
}

}  // namespace autotune
