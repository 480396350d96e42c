// Winners as rows, with the hash over them. SQLite's exceptions pass through.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>

#include "core/winner.hpp"
#include "db/result_filter.hpp"

namespace autotune {

// Wants a transaction around it.
void insert_winners(SQLite::Database& database, std::span<const Winner> winners);

// Copies the rows of another database's winners where this one has none or slower ones, and returns
// their number. Wants a transaction around it.
std::int64_t merge_winners(SQLite::Database& database, SQLite::Database& other);

// Implements TuningDatabase::winners().
[[nodiscard]] std::vector<Winner> select_winners(SQLite::Database& database,
                                                 const ResultFilter& filter);

}  // namespace autotune
