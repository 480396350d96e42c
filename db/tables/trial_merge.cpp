#include "db/tables/trial_merge.hpp"

#include <optional>
#include <utility>

#include <SQLiteCpp/VariadicBind.h>

#include "db/tables/problem_table.hpp"
#include "db/tables/trial_table.hpp"

namespace autotune {
namespace {

// A batch is stored in some tenths of a second, in which no other process can write.
constexpr int kBatchTrials = 8192;
constexpr std::size_t kBatchBytes = 16 << 20;

std::size_t bytes_of(const TrialColumns& columns) {
  return columns.configuration.size() + columns.detail.size() + columns.measurement.size() +
         columns.verification.size() + columns.resources.size();
}

// The numbers that rows of scope, run and problem have in the database that takes trials in.
class OwnRows {
 public:
  explicit OwnRows(SQLite::Database& database) : database_(database) {}

  std::int64_t scope(const TrialScope& scope) {
    return number(scopes_, &scope, [&] { return make_scope(database_, scope); });
  }
  std::int64_t problem(const Problem& problem) {
    return number(problems_, problem.key(), [&] { return make_problem(database_, problem); });
  }
  std::int64_t run(const RunColumns& run) {
    return number(runs_, run.info.guid, [&] { return make_run(database_, run); });
  }

 private:
  template <typename Name, typename Make>
  static std::int64_t number(std::map<Name, std::int64_t>& known, const Name& name, Make make) {
    const auto [place, is_new] = known.try_emplace(name);
    if (is_new) place->second = make();
    return place->second;
  }

  SQLite::Database& database_;
  std::map<const TrialScope*, std::int64_t> scopes_;
  std::map<std::string, std::int64_t> problems_;
  std::map<std::string, std::int64_t> runs_;
};

}  // namespace

std::vector<OtherTrial> OtherTrials::next() {
  const SQLite::Transaction reading(other_);
  scopes_.clear();
  runs_.clear();
  for (StoredScope& scope : select_scopes(other_, {})) {
    scopes_.emplace(scope.id, std::move(scope.scope));
  }
  // The table itself is read, because an index of the other file may be damaged.
  SQLite::Statement rows(
      other_, std::string("SELECT trial.*, problem.key AS problem_key, ") + kRunColumns +
                  " FROM trial NOT INDEXED LEFT JOIN run ON run.id = trial.run LEFT JOIN problem"
                  " ON problem.id = trial.problem WHERE trial.id > ? ORDER BY trial.id");
  rows.bind(1, last_row_);
  std::vector<OtherTrial> batch;
  std::size_t bytes = 0;
  for (int read = 0; read < kBatchTrials && bytes < kBatchBytes; ++read) {
    at_end_ = !rows.executeStep();
    if (at_end_) break;
    last_row_ = rows.getColumn("id").getInt64();
    const auto scope = scopes_.find(rows.getColumn("scope").getInt64());
    std::optional<Problem> problem = problem_from(rows.getColumn("problem_key"));
    if (scope == scopes_.end() || !problem || !trial_from(rows, scope->second, *problem)) {
      ++damaged_;
      continue;
    }
    const auto [run, is_new] = runs_.try_emplace(rows.getColumn("guid").getString());
    if (is_new) {
      // The guid of a run whose row is damaged is known, because the trial's hash covers it.
      const RunColumns unknown = {{.guid = run->first}, scope->second.device_class, {}};
      run->second = run_from(rows).value_or(unknown);
    }
    batch.push_back({&scope->second, &run->second, *std::move(problem), columns_of(rows),
                     rows.getColumn("row_hash").getString()});
    bytes += bytes_of(batch.back().columns);
  }
  return batch;
}

std::int64_t merge_trials(SQLite::Database& database, std::span<const OtherTrial> trials) {
  SQLite::Statement same(
      database,
      "SELECT trial.*, guid FROM trial JOIN run ON run.id = trial.run WHERE scope = ? AND"
      " problem = ? AND status = ? AND median_us = ? AND trial.row_hash = ?");
  TrialInsertion insertion(database);
  OwnRows own(database);
  std::int64_t added = 0;
  for (const OtherTrial& trial : trials) {
    const std::int64_t scope = own.scope(*trial.scope);
    const std::int64_t problem = own.problem(trial.problem);
    const std::int64_t run = own.run(*trial.run);
    same.reset();
    SQLite::bind(same, scope, problem, trial.columns.status, trial.columns.median_us, trial.hash);
    bool known = false;
    while (!known && same.executeStep()) {
      const std::string guid = same.getColumn("guid");
      known = sound_columns_of(same, *trial.scope, guid, trial.problem).has_value();
    }
    if (known) continue;
    insertion.add(scope, run, problem, trial.columns, trial.hash);
    ++added;
  }
  return added;
}

}  // namespace autotune
