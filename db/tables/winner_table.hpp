// Winners as rows, with the hash over them. SQLite's exceptions pass through.
#pragma once

#include <span>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>

#include "core/winner.hpp"
#include "db/result_filter.hpp"

namespace autotune {

// Wants a transaction around it.
void insert_winners(SQLite::Database& database, std::span<const Winner> winners);

// Implements TuningDatabase::winners().
[[nodiscard]] std::vector<Winner> select_winners(SQLite::Database& database,
                                                 const ResultFilter& filter);

}  // namespace autotune
