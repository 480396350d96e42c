#include "db/tables/summaries.hpp"

#include <optional>
#include <utility>

#include "db/tables/problem_table.hpp"
#include "db/tables/provenance.hpp"

namespace autotune {

// The index trial_by_problem has all that the statement asks for.
std::vector<ResultSummary> select_summaries(SQLite::Database& database, const ResultFilter& filter,
                                            const std::string& template_name) {
  SQLite::Statement select(
      database,
      "SELECT problem.key, COUNT(*), SUM(status = 'ok'),"
      " MIN(CASE WHEN status = 'ok' AND median_us > 0 AND median_us < 1e12 THEN median_us END),"
      " (SELECT device_label FROM run WHERE device_class = ?2 ORDER BY id DESC LIMIT 1)"
      " FROM trial JOIN problem ON problem.id = trial.problem WHERE scope = ?1"
      " GROUP BY trial.problem");
  std::vector<ResultSummary> summaries;
  for (const StoredScope& scope : select_scopes(database, filter)) {
    if (!template_name.empty() && scope.scope.template_name != template_name) continue;
    select.reset();
    select.bind(1, scope.id);
    select.bind(2, scope.scope.device_class);
    while (select.executeStep()) {
      std::optional<Problem> problem = problem_from(select.getColumn(0));
      if (!problem || (filter.problem != Problem() && filter.problem != *problem)) continue;
      if (!filter.operation.empty() && filter.operation != problem->operation()) continue;
      summaries.push_back({.scope = scope.scope,
                           .device_label = select.getColumn(4).getString(),
                           .problem = *std::move(problem),
                           .trials = select.getColumn(1).getInt64(),
                           .correct = select.getColumn(2).getInt64(),
                           .best_us = select.getColumn(3).getDouble()});
    }
  }
  return summaries;
}

DatabaseStats select_stats(SQLite::Database& database) {
  const auto number = [&](const char* query) { return database.execAndGet(query).getInt64(); };
  DatabaseStats stats;
  stats.bytes = number("PRAGMA page_count") * number("PRAGMA page_size");
  stats.runs = number("SELECT COUNT(*) FROM run");
  stats.trials = number("SELECT COUNT(*) FROM trial");
  stats.failed_trials = number("SELECT COUNT(*) FROM trial WHERE status <> 'ok'");
  stats.winners = number("SELECT COUNT(*) FROM winner");
  stats.schema_version = static_cast<int>(number("PRAGMA user_version"));
  return stats;
}

}  // namespace autotune
