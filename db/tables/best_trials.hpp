// The fastest correct trials of each problem and scope. SQLite's exceptions pass through.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>

#include "core/winner.hpp"
#include "db/result_filter.hpp"
#include "db/tuning_database.hpp"

namespace autotune {

// Implements TuningDatabase::best_trials().
[[nodiscard]] std::vector<Winner> select_best_trials(SQLite::Database& database,
                                                     const ResultFilter& filter);

// Implements TuningDatabase::fastest_trials().
[[nodiscard]] std::vector<StoredTrial> select_fastest_trials(SQLite::Database& database,
                                                             const ResultFilter& filter,
                                                             const std::string& template_name,
                                                             std::size_t count);

}  // namespace autotune
