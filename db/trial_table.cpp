#include "db/trial_table.hpp"

#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "core/hash.hpp"
#include "core/json.hpp"
#include "db/columns.hpp"
#include "db/provenance.hpp"

namespace autotune {
namespace {

using nlohmann::json;

struct TrialColumns {
  GemmProblem problem;
  std::string configuration;
  std::string status;
  std::string detail;
  double median_us = 0;
  std::string measurement;
  std::string verification;
  std::string resources;
};

TrialColumns columns_of(const Trial& trial) {
  const double median_us = trial.measurement.median_us;
  return {trial.problem,
          to_string(trial.configuration),
          to_string(trial.status),
          trial.detail,
          trial.ok() && std::isfinite(median_us) ? median_us : 0,
          json_text(trial.measurement),
          json_text(trial.verification),
          json_text(trial.resources)};
}

std::string trial_hash(const TrialScope& scope, const std::string& run_guid,
                       const TrialColumns& row) {
  FieldHasher hasher;
  return add_scope(hasher, scope)
      .add(run_guid)
      .add(row.problem.m)
      .add(row.problem.n)
      .add(row.problem.k)
      .add(layout_text(row.problem))
      .add(to_string(row.problem.math))
      .add(row.configuration)
      .add(row.status)
      .add(row.detail)
      .add(row.median_us)
      .add(row.measurement)
      .add(row.verification)
      .add(row.resources)
      .digest();
}

// nullopt when the row is damaged.
std::optional<Trial> trial_from(const SQLite::Statement& row, const TrialScope& scope) {
  return unless_damaged([&]() -> std::optional<Trial> {
    const TrialColumns columns = {problem_from(row),
                                  row.getColumn("configuration").getString(),
                                  row.getColumn("status").getString(),
                                  row.getColumn("detail").getString(),
                                  row.getColumn("median_us").getDouble(),
                                  row.getColumn("measurement").getString(),
                                  row.getColumn("verification").getString(),
                                  row.getColumn("resources").getString()};
    const std::string hash = trial_hash(scope, row.getColumn("guid").getString(), columns);
    if (hash != row.getColumn("row_hash").getString()) return std::nullopt;
    return Trial{.problem = columns.problem,
                 .template_name = scope.template_name,
                 .configuration = Configuration::parse(columns.configuration),
                 .status = trial_status_from_string(columns.status),
                 .detail = columns.detail,
                 .measurement = json::parse(columns.measurement).get<Measurement>(),
                 .verification = json::parse(columns.verification).get<Verification>(),
                 .resources = json::parse(columns.resources).get<Resources>()};
  });
}

// nullopt also when it is not of this problem, as an index that is damaged may say.
std::optional<Trial> trial_from(const SQLite::Statement& row, const TrialScope& scope,
                                const GemmProblem& problem) {
  std::optional<Trial> trial = trial_from(row, scope);
  return trial && trial->problem == problem ? std::move(trial) : std::nullopt;
}

// Steps from one problem to the next in the index, however many trials each has.
std::vector<GemmProblem> problems_of(SQLite::Database& database, std::int64_t scope) {
  SQLite::Statement next(database,
                         "SELECT m, n, k, layout, math FROM trial WHERE scope = :scope AND"
                         " (m, n, k, layout, math) > (:m, :n, :k, :layout, :math)"
                         " ORDER BY m, n, k, layout, math LIMIT 1");
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::string, std::string>;
  std::vector<GemmProblem> problems;
  Key last;
  while (true) {
    next.reset();
    next.bind(":scope", scope);
    next.bind(":m", std::get<0>(last));
    next.bind(":n", std::get<1>(last));
    next.bind(":k", std::get<2>(last));
    next.bind(":layout", std::get<3>(last));
    next.bind(":math", std::get<4>(last));
    if (!next.executeStep()) return problems;
    Key key(next.getColumn(0).getInt64(), next.getColumn(1).getInt64(),
            next.getColumn(2).getInt64(), next.getColumn(3).getString(),
            next.getColumn(4).getString());
    if (key <= last) return problems;  // a damaged index would lead in a circle
    last = std::move(key);
    const auto problem = unless_damaged([&] { return std::optional(problem_from(next)); });
    if (problem) problems.push_back(*problem);
  }
}

// In the order they were stored; of several trials of one configuration the last.
std::vector<StoredTrial> trials_of(SQLite::Database& database, const StoredScope& scope,
                                   const GemmProblem& problem) {
  SQLite::Statement select(
      database, std::string("SELECT trial.*, ") + kRunColumns +
                    " FROM trial JOIN run ON run.id = trial.run WHERE scope = :scope AND m = :m"
                    " AND n = :n AND k = :k AND layout = :layout AND math = :math ORDER BY"
                    " trial.id");
  select.bind(":scope", scope.id);
  bind_problem(select, problem);
  std::vector<StoredTrial> result;
  std::map<Configuration, std::size_t> places;
  while (select.executeStep()) {
    std::optional<Trial> trial = trial_from(select, scope.scope, problem);
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

}  // namespace

void insert_trials(SQLite::Database& database, const TrialScope& scope, const RunInfo& run,
                   std::span<const Trial> trials) {
  const std::int64_t scope_id = make_scope(database, scope);
  const std::int64_t run_id =
      make_run(database, {run, scope.device_class, scope.environment.tool_version});
  SQLite::Statement insert(
      database,
      "INSERT INTO trial (scope, run, m, n, k, layout, math, configuration, status, detail,"
      " median_us, measurement, verification, resources, row_hash) VALUES (:scope, :run, :m, :n,"
      " :k, :layout, :math, :configuration, :status, :detail, :median_us, :measurement,"
      " :verification, :resources, :row_hash)");
  insert.bind(":scope", scope_id);
  insert.bind(":run", run_id);
  for (const Trial& trial : trials) {
    const TrialColumns columns = columns_of(trial);
    bind_problem(insert, columns.problem);
    insert.bind(":configuration", columns.configuration);
    insert.bind(":status", columns.status);
    insert.bind(":detail", columns.detail);
    insert.bind(":median_us", columns.median_us);
    insert.bind(":measurement", columns.measurement);
    insert.bind(":verification", columns.verification);
    insert.bind(":resources", columns.resources);
    insert.bind(":row_hash", trial_hash(scope, run.guid, columns));
    insert.exec();
    insert.reset();
  }
}

std::vector<Trial> select_trials(SQLite::Database& database, const TrialScope& scope,
                                 const GemmProblem& problem) {
  const std::optional<std::int64_t> scope_id = find_scope(database, scope);
  if (!scope_id) return {};
  std::vector<Trial> result;
  for (StoredTrial& stored : trials_of(database, {*scope_id, scope}, problem)) {
    result.push_back(std::move(stored.trial));
  }
  return result;
}

std::vector<StoredTrial> select_all_trials(SQLite::Database& database,
                                           const std::string& device_label,
                                           const std::string& template_name) {
  std::vector<StoredTrial> result;
  for (const StoredScope& scope : select_scopes(database, "", device_label)) {
    if (!template_name.empty() && scope.scope.template_name != template_name) continue;
    for (const GemmProblem& problem : problems_of(database, scope.id)) {
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
      "SELECT trial.*, guid FROM trial JOIN run ON run.id = trial.run WHERE trial.id > :row AND"
      " trial.id <= :last AND +scope = :scope AND guid <> :own_guid ORDER BY trial.id");
  select.bind(":row", row);
  select.bind(":last", last);
  select.bind(":scope", *scope_id);
  select.bind(":own_guid", own_guid);
  std::vector<Trial> result;
  while (select.executeStep()) {
    if (std::optional<Trial> trial = trial_from(select, scope)) {
      result.push_back(std::move(*trial));
    }
  }
  row = last;
  return result;
}

std::int64_t select_last_trial(SQLite::Database& database) {
  return database.execAndGet("SELECT COALESCE(MAX(id), 0) FROM trial").getInt64();
}

std::vector<Winner> select_best_trials(SQLite::Database& database, const std::string& device_class,
                                       const std::string& device_label) {
  SQLite::Statement fastest(
      database,
      std::string("SELECT trial.*, ") + kRunColumns +
          " FROM trial JOIN run ON run.id = trial.run WHERE scope = :scope AND m = :m AND n = :n"
          " AND k = :k AND layout = :layout AND math = :math AND status = 'ok' AND median_us > 0"
          " ORDER BY median_us");
  std::vector<Winner> result;
  for (const auto& [id, scope] : select_scopes(database, device_class, device_label)) {
    for (const GemmProblem& problem : problems_of(database, id)) {
      fastest.reset();
      fastest.bind(":scope", id);
      bind_problem(fastest, problem);
      while (fastest.executeStep()) {  // until one that is not damaged
        const std::optional<Trial> trial = trial_from(fastest, scope, problem);
        const std::optional<RunColumns> run = run_from(fastest);
        if (!trial || !run) continue;
        result.push_back(unconfirmed(*trial, scope, *run));
        break;
      }
    }
  }
  return result;
}

}  // namespace autotune
