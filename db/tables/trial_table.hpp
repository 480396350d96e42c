// Trials as rows of the tables scope, run, problem and trial. Each function wants a transaction
// around it where it writes; SQLite's exceptions pass through.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>

#include "db/tables/trial_row.hpp"
#include "db/tuning_database.hpp"

namespace autotune {

// Stores rows of the table trial.
class TrialInsertion {
 public:
  explicit TrialInsertion(SQLite::Database& database);
  void add(std::int64_t scope, std::int64_t run, std::int64_t problem, const TrialColumns& columns,
           const std::string& hash);

 private:
  SQLite::Statement insert_;
};

void insert_trials(SQLite::Database& database, const TrialScope& scope, const RunInfo& run,
                   std::span<const Trial> trials);

// Implements TuningDatabase::trials().
[[nodiscard]] std::vector<Trial> select_trials(SQLite::Database& database,
                                               std::span<const TrialScope> scopes,
                                               const Problem& problem);
// Implements TuningDatabase::all_trials().
[[nodiscard]] std::vector<StoredTrial> select_all_trials(SQLite::Database& database,
                                                         const ResultFilter& filter,
                                                         const std::string& template_name);
// Implements TuningDatabase::visit_trials().
void visit_trials(SQLite::Database& database, const ResultFilter& filter,
                  const std::string& template_name,
                  const std::function<void(const TrialRow&)>& visit);
// Implements TuningDatabase::trials_after().
[[nodiscard]] std::vector<Trial> select_trials_after(SQLite::Database& database, std::int64_t& row,
                                                     const TrialScope& scope,
                                                     const std::string& own_guid);
// Implements TuningDatabase::last_trial_row().
[[nodiscard]] std::int64_t select_last_trial(SQLite::Database& database);

}  // namespace autotune
