// The fastest correct trial of each problem and scope. SQLite's exceptions pass through.
#pragma once

#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>

#include "core/winner.hpp"
#include "db/result_filter.hpp"

namespace autotune {

// Implements TuningDatabase::best_trials().
[[nodiscard]] std::vector<Winner> select_best_trials(SQLite::Database& database,
                                                     const ResultFilter& filter);

}  // namespace autotune
