// Winners as rows, with the hash over them. SQLite's exceptions pass through.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>

#include "core/winner.hpp"
#include "db/result_filter.hpp"

namespace autotune {

// Wants a transaction around it.
void insert_winners(SQLite::Database& database, std::span<const Winner> winners);

// A row of the table. The body is the winner as JSON, and a newer program may have written members
// into it that this one does not know.
struct WinnerRow {
  Winner winner;
  std::string body;
};

// All rows, without the damaged ones, whose number is added to `damaged`.
[[nodiscard]] std::vector<WinnerRow> select_winner_rows(SQLite::Database& database,
                                                        std::int64_t* damaged);
// Puts a library's time beside the stored winner, if that is this one: it has its configuration.
// Returns whether it is. Wants a transaction around it.
bool put_baseline(SQLite::Database& database, const Winner& winner, const BaselineTime& baseline);

// Adds rows of another database where this one has none or slower ones, and newer times of a
// library beside the same winner. Returns the number of rows that it wrote. Wants a transaction
// around it.
std::int64_t merge_winners(SQLite::Database& database, std::vector<WinnerRow> rows);

// Implements TuningDatabase::winners().
[[nodiscard]] std::vector<Winner> select_winners(SQLite::Database& database,
                                                 const ResultFilter& filter);

}  // namespace autotune
