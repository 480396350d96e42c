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

// Implements TuningDatabase::prune().
[[nodiscard]] RemovedCounts prune_trials(SQLite::Database& database,
                                         const std::function<bool(const TrialScope&)>& is_current);

}  // namespace autotune
