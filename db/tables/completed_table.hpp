// Completed requests as rows, with the hash over them. SQLite's exceptions pass through.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>

#include "db/tuning_database.hpp"

namespace autotune {

// Wants a transaction around it.
void insert_completed(SQLite::Database& database, std::span<const CompletedRequest> requests);

// All of them, without the damaged rows, whose number is added to `damaged`.
[[nodiscard]] std::vector<CompletedRequest> select_all_completed(SQLite::Database& database,
                                                                 std::int64_t* damaged);
// Adds the requests of another database that this one lacks. Wants a transaction around it.
void merge_completed(SQLite::Database& database, std::span<const CompletedRequest> requests);

// Implements TuningDatabase::completed().
[[nodiscard]] std::optional<CompletedRequest> select_completed(SQLite::Database& database,
                                                               const std::string& key);

}  // namespace autotune
