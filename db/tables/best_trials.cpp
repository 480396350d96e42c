#include "db/tables/best_trials.hpp"

#include <optional>
#include <string>
#include <utility>

#include "db/tables/problem_table.hpp"
#include "db/tables/provenance.hpp"
#include "db/tables/trial_row.hpp"

namespace autotune {
namespace {

Winner unconfirmed(const Trial& trial, const TrialScope& scope, const RunColumns& run) {
  Winner winner;
  winner.device_class = scope.device_class;
  winner.device_label = run.info.device_label;
  winner.problem = trial.problem;
  winner.template_name = scope.template_name;
  winner.space_version = scope.space_version;
  winner.source_hash = scope.source_hash;
  winner.environment = scope.environment;
  winner.environment.tool_version = run.tool_version;
  winner.configuration = trial.configuration;
  winner.median_us = winner.low_us = winner.high_us = trial.measurement.median_us;
  winner.verification = trial.verification;
  winner.resources = trial.resources;
  winner.measured_at = run.info.started_at;
  return winner;
}

// The first row of a query for a scope and a problem that is not damaged.
std::optional<Winner> first_sound(SQLite::Statement& fastest, const TrialScope& scope,
                                  const Problem& problem) {
  while (fastest.executeStep()) {
    const std::optional<Trial> trial = trial_from(fastest, scope, problem);
    const std::optional<RunColumns> run = run_from(fastest);
    if (trial && run) return unconfirmed(*trial, scope, *run);
  }
  return std::nullopt;
}

}  // namespace

std::vector<Winner> select_best_trials(SQLite::Database& database, const ResultFilter& filter) {
  // One seek in the index trial_by_problem, which has the fastest first.
  SQLite::Statement fastest(database,
                            std::string("SELECT trial.*, ") + kRunColumns +
                                " FROM trial JOIN run ON run.id = trial.run WHERE scope = :scope"
                                " AND problem = :problem AND status = 'ok' AND median_us > 0"
                                " ORDER BY median_us");
  std::vector<Winner> result;
  for (const auto& [scope_id, scope] : select_scopes(database, filter)) {
    for (const auto& [problem_id, problem] : problems_of_scope(database, scope_id, filter)) {
      fastest.reset();
      fastest.bind(":scope", scope_id);
      fastest.bind(":problem", problem_id);
      if (std::optional<Winner> best = first_sound(fastest, scope, problem)) {
        result.push_back(std::move(*best));
      }
    }
  }
  return result;
}

}  // namespace autotune
