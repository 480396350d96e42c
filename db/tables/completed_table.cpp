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
  SQLite::Statement select(
      database, "SELECT reason, budget_s, trials, row_hash FROM completed WHERE key = ?");
  select.bind(1, key);
  if (!select.executeStep()) return std::nullopt;
  CompletedRequest found = {key, select.getColumn(0).getString(), select.getColumn(1).getDouble(),
                            select.getColumn(2).getInt64()};
  if (hash_of(found) != select.getColumn(3).getString()) return std::nullopt;
  return found;
}

}  // namespace autotune
