// Removal of results. Each function wants a transaction around it; SQLite's exceptions pass
// through.
#pragma once

#include <functional>
#include <span>

#include <SQLiteCpp/SQLiteCpp.h>

#include "db/tuning_database.hpp"

namespace autotune {

// Implements TuningDatabase::remove().
[[nodiscard]] RemovedCounts remove_results(SQLite::Database& database,
                                           std::span<const ResultKey> results);

// Implements TuningDatabase::remove_all().
[[nodiscard]] RemovedCounts remove_all_results(SQLite::Database& database);

// Implements TuningDatabase::prune().
[[nodiscard]] RemovedCounts prune_results(SQLite::Database& database,
                                          const std::function<bool(const TrialScope&)>& is_current,
                                          const std::function<bool(const Problem&)>& is_known,
                                          const std::function<bool(const Problem&)>& is_foreign);

}  // namespace autotune
