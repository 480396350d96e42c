#include "db/tables/index_repair.hpp"

#include <string>

#include <sqlite3.h>

namespace autotune {
namespace {

bool is_sound(SQLite::Database& database, const std::string& table) {
  return database.execAndGet("PRAGMA integrity_check(" + table + ")").getString() == "ok";
}

}  // namespace

void repair_indexes(SQLite::Database& database) {
  for (const std::string table : {"scope", "run", "problem", "winner"}) {
    if (is_sound(database, table)) continue;
    try {
      database.exec("REINDEX " + table);
    } catch (const SQLite::Exception& error) {
      if (error.getErrorCode() != SQLITE_CONSTRAINT) throw;
      throw SQLite::Exception("rows of " + table + " have become equal", SQLITE_CORRUPT);
    }
    if (is_sound(database, table)) continue;
    throw SQLite::Exception("rows of " + table + " cannot be read", SQLITE_CORRUPT);
  }
}

}  // namespace autotune
