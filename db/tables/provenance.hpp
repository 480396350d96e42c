// The tables scope and run: what trials are found by, and which call of the tuner made them.
// SQLite's exceptions pass through.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>

#include "db/result_filter.hpp"
#include "db/tuning_database.hpp"

namespace autotune {

// A row of scope. It needs no hash of its own: the hash of every trial covers it.
struct StoredScope {
  std::int64_t id = 0;
  TrialScope scope;
};

// A row of run.
struct RunColumns {
  RunInfo info;
  std::string device_class;
  std::string tool_version;
};

[[nodiscard]] std::optional<std::int64_t> find_scope(SQLite::Database& database,
                                                     const TrialScope& scope);
// The scopes of the filter's device.
[[nodiscard]] std::vector<StoredScope> select_scopes(SQLite::Database& database,
                                                     const ResultFilter& filter);
// The number of the row, which is made when it is not there. make_run() replaces a damaged row.
[[nodiscard]] std::int64_t make_scope(SQLite::Database& database, const TrialScope& scope);
[[nodiscard]] std::int64_t make_run(SQLite::Database& database, RunColumns run);

// nullopt for a run whose trials and winners are not stored here.
[[nodiscard]] std::optional<std::int64_t> find_run(SQLite::Database& database,
                                                   const std::string& guid);

// The columns that run_from() wants of a query that joins run.
inline constexpr const char* kRunColumns =
    "guid, run.device_class AS run_device_class, device_label, device_uuid, command, started_at,"
    " tool_version, run.row_hash AS run_hash";
// nullopt when the row is damaged.
[[nodiscard]] std::optional<RunColumns> run_from(const SQLite::Statement& row);

}  // namespace autotune
