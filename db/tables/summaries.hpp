// The contents of the database at a glance. SQLite's exceptions pass through.
#pragma once

#include <string>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>

#include "db/tuning_database.hpp"

namespace autotune {

// Implements TuningDatabase::summaries().
[[nodiscard]] std::vector<ResultSummary> select_summaries(SQLite::Database& database,
                                                          const ResultFilter& filter,
                                                          const std::string& template_name);

// Counts the rows of all tables; the path is left empty.
[[nodiscard]] DatabaseStats select_stats(SQLite::Database& database);

}  // namespace autotune
