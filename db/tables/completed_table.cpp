#include "db/tables/completed_table.hpp"

#include <SQLiteCpp/VariadicBind.h>

#include "core/hash.hpp"

namespace autotune {
namespace {

std::string hash_of(const CompletedRequest& request) {
  return FieldHasher()
      .add(request.key)
      .add(request.reason)
      .add(request.budget_s)
      .add(request.trials)
      .digest();
}

constexpr const char* kCompletedColumns =
    "SELECT key, reason, budget_s, trials, row_hash FROM completed";

// nullopt when the row is damaged.
std::optional<CompletedRequest> completed_from(const SQLite::Statement& row) {
  CompletedRequest found = {row.getColumn(0), row.getColumn(1), row.getColumn(2), row.getColumn(3)};
  if (hash_of(found) != row.getColumn(4).getString()) return std::nullopt;
  return found;
}

}  // namespace

void insert_completed(SQLite::Database& database, std::span<const CompletedRequest> requests) {
  SQLite::Statement insert(database,
                           "INSERT OR REPLACE INTO completed (key, reason, budget_s, trials,"
                           " row_hash) VALUES (?, ?, ?, ?, ?)");
  for (const CompletedRequest& request : requests) {
    SQLite::bind(insert, request.key, request.reason, request.budget_s, request.trials,
                 hash_of(request));
    insert.exec();
    insert.reset();
  }
}

std::optional<CompletedRequest> select_completed(SQLite::Database& database,
                                                 const std::string& key) {
  SQLite::Statement select(database, std::string(kCompletedColumns) + " WHERE key = ?");
  select.bind(1, key);
  std::optional<CompletedRequest> found;
  if (select.executeStep()) found = completed_from(select);
  return found && found->key == key ? found : std::nullopt;
}

std::vector<CompletedRequest> select_all_completed(SQLite::Database& database,
                                                   std::int64_t* damaged) {
  SQLite::Statement rows(database, kCompletedColumns);
  std::vector<CompletedRequest> result;
  while (rows.executeStep()) {
    if (std::optional<CompletedRequest> request = completed_from(rows)) {
      result.push_back(*std::move(request));
    } else {
      ++*damaged;
    }
  }
  return result;
}

void merge_completed(SQLite::Database& database, std::span<const CompletedRequest> requests) {
  for (const CompletedRequest& request : requests) {
    if (!select_completed(database, request.key)) insert_completed(database, {&request, 1});
  }
}

}  // namespace autotune
